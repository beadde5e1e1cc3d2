package webhdfs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func noEnv(string) (string, bool) { return "", false }

// site writes a configuration and finds an authority in it.
func siteOf(t *testing.T, authority string, files map[string]string) (site, error) {
	t.Helper()
	dir := t.TempDir()
	for name, properties := range files {
		text := `<?xml version="1.0"?><configuration xmlns:xi="http://www.w3.org/2001/XInclude">` + properties + `</configuration>`
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := readConf(dir, func(name string) (string, bool) { return "from-env", name == "SET" })
	if err != nil {
		return site{}, err
	}
	return c.site(authority)
}

// properties writes NAME=VALUE pairs as XML.
func properties(pairs ...string) (out string) {
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		out += "<property><name>" + k + "</name><value> " + v + " </value></property>\n"
	}
	return out
}

// TestNameNodesAreFound: as administrators write them, hdfs paths lead to the addresses of WebHDFS.
func TestNameNodesAreFound(t *testing.T) {
	const one = "fs.defaultFS=hdfs://nn:8020"
	ha := properties("dfs.nameservices=a, b", "dfs.ha.namenodes.b=x,y", "dfs.namenode.rpc-address.b.x=h1:8020", "dfs.namenode.rpc-address.b.y=h2:8020",
		"dfs.namenode.http-address.b.x=h1:50070", "dfs.namenode.https-address.b.y=h2:7777", "dfs.namenode.http-address.a=h0:1")
	for name, c := range map[string]struct {
		authority, core, hdfs, want string
	}{
		"default, by the usual port":    {"", properties(one), "", "http://nn:9870"},
		"the same by its name":          {"nn", properties(one), properties("dfs.namenode.http-address=nn:1234"), "http://nn:1234"},
		"every interface":               {"nn:8020", properties(one), properties("dfs.namenode.http-address=0.0.0.0:1234"), "http://nn:1234"},
		"another port is another one":   {"nn:9", properties(one), properties("dfs.namenode.http-address=nn:1234"), "http://nn:9870"},
		"two name nodes":                {"b", properties("fs.defaultFS=hdfs://b"), ha, "http://h1:50070 http://h2:9870"},
		"two, by default":               {"", properties("fs.defaultFS=hdfs://b/"), ha, "http://h1:50070 http://h2:9870"},
		"one of two, by its host":       {"h1:8020", "", ha, "http://h1:50070"},
		"a service of one":              {"a", "", ha, "http://h0:1"},
		"only TLS":                      {"b", "", ha + properties("dfs.http.policy=HTTPS_ONLY"), "https://h1:9871 https://h2:7777"},
		"no part of the configuration":  {"other", "", ha, "http://other:9870"},
		"IPv6":                          {"[::1]:8020", "", "", "http://[::1]:9870"},
		"WebHDFS as the default":        {"", properties("fs.defaultFS=webhdfs://gate:14000"), "", "http://gate:14000"},
		"variables":                     {"", properties("fs.defaultFS=hdfs://${host}.${env.SET}.${env.UNSET:-x}", "host=n${digit}", "digit=1"), "", "http://n1.from-env.x:9870"},
		"the later file counts":         {"", properties(one), properties("fs.defaultFS=hdfs://later"), "http://later:9870"},
		"unless the earlier is final":   {"", `<property><name>fs.defaultFS</name><value>hdfs://f</value><final>true</final></property>`, properties("fs.defaultFS=hdfs://later"), "http://f:9870"},
		"a file that includes another":  {"", `<xi:include href="hdfs-site.xml"/>`, properties("fs.defaultFS=hdfs://in"), "http://in:9870"},
		"what may be missing":           {"", `<xi:include href="none.xml"><xi:fallback/></xi:include>` + properties(one), "", "http://nn:9870"},
		"properties as attributes":      {"", `<property name="fs.defaultFS" value="hdfs://attr"/>`, "", "http://attr:9870"},
		"the name of old":               {"", properties("fs.default.name=hdfs://old"), "", "http://old:9870"},
		"elements that mean nothing":    {"", "<!-- hdfs --><x><property/></x>" + properties(one), "", "http://nn:9870"},
		"an address that is only meant": {"nn", properties(one, "unused=${nowhere}"), "", "http://nn:9870"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := siteOf(t, c.authority, map[string]string{"core-site.xml": c.core, "hdfs-site.xml": c.hdfs})
			if strings.Join(got.nodes, " ") != c.want || err != nil {
				t.Errorf("%v, %v; want %s", got.nodes, err, c.want)
			}
		})
	}
}

// TestConfigurationsThatDoNotDo: the error names what is wrong, and where.
func TestConfigurationsThatDoNotDo(t *testing.T) {
	for want, c := range map[string]struct{ authority, core string }{
		"has no fs.defaultFS":               {"", ""},
		"is no HDFS":                        {"", properties("fs.defaultFS=s3a://bucket")},
		"what ${nowhere} is":                {"", properties("fs.defaultFS=hdfs://${nowhere}")},
		"variables in one another":          {"", properties("fs.defaultFS=${a}", "a=${a}")},
		"core-site.xml: XML syntax error":   {"", "<property>"},
		`includes "http://x/y.xml"`:         {"", `<xi:include href="http://x/y.xml"/>`},
		"8 deep at most":                    {"", `<xi:include href="core-site.xml"/>`},
		"no such file":                      {"", `<xi:include href="none.xml"/>`},
		"is no HOST:PORT":                   {"a b", ""},
		"dfs.namenode.http-address.a":       {"a", properties("dfs.nameservices=a")},
		"more than 8388608 bytes":           {"", strings.Repeat(" ", maxConfBytes+10)},
		`fs.defaultFS in `:                  {"", properties("fs.defaultFS=file:///")},
		`more than 20000 properties`:        {"", manyProperties()},
		`is "nn:x:y": it must be HOST:PORT`: {"nn", properties("fs.defaultFS=hdfs://nn", "dfs.namenode.http-address=nn:x:y")},
	} {
		_, err := siteOf(t, c.authority, map[string]string{"core-site.xml": c.core, "hdfs-site.xml": ""})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one with %q", err, want)
		}
	}
	if _, err := (*conf)(nil).site(""); err == nil || !strings.Contains(err.Error(), "HADOOP_CONF_DIR") {
		t.Errorf("without a configuration: %v", err)
	}
	if s, err := (*conf)(nil).site("h:1"); err != nil || s.nodes[0] != "http://h:9870" || !strings.Contains(s.advice, "webhdfs://h:PORT") {
		t.Errorf("without a configuration, but with a host: %+v, %v", s, err)
	}
}

func manyProperties() string {
	var b strings.Builder
	for i := range maxProperties + 1 {
		fmt.Fprintf(&b, "<property><name>x%d</name></property>", i)
	}
	return b.String()
}

// FuzzConf: whatever a configuration has in it, it is read or refused.
func FuzzConf(f *testing.F) {
	for _, s := range []string{properties("fs.defaultFS=hdfs://nn", "dfs.nameservices=nn"), "<xi:include href='x'/>", "<property><final>true", "${a}", "&x;", "<!DOCTYPE x [<!ENTITY a 'b'>]>"} {
		f.Add("<configuration>" + s + "</configuration>")
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := &conf{dir: "x", values: map[string]string{}, final: map[string]bool{}, env: noEnv}
		if c.parse(strings.NewReader(text), filepath.Join(t.TempDir(), "core-site.xml"), 0) != nil {
			return
		}
		for _, authority := range []string{"", "nn", "nn:8020"} {
			if s, err := c.site(authority); err == nil && len(s.nodes) == 0 {
				t.Errorf("%q has no address and no error", authority)
			}
		}
	})
}

// FuzzAnswers: whatever a server answers, it is understood or refused, and no name leads out of its directory.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{
		`{"FileStatus":{"fileId":16387,"length":5,"modificationTime":1795114146622,"pathSuffix":"","permission":"644","type":"FILE"}}`,
		`{"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[{"pathSuffix":"f","type":"FILE"}]}},"remainingEntries":1}}`,
		`{"FileStatuses":{"FileStatus":[{"pathSuffix":"../f","type":"FILE"}]}}`, `{"boolean":true}`, `{"FileStatus":null}`, `[`,
		`{"RemoteException":{"exception":"FileNotFoundException","javaClassName":"java.io.FileNotFoundException","message":"a\n\tat b"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _ = parseBool(body)
		if s, err := parseStatus(body); err == nil && s.Length < 0 {
			t.Error("a file of less than nothing")
		}
		list, more, err := parsePage(bytes.NewReader(body))
		for _, s := range list {
			if err == nil && (strings.Contains(s.PathSuffix, "/") || s.PathSuffix == ".." || more < 0) {
				t.Errorf("a listing has %q, and %d behind it", s.PathSuffix, more)
			}
		}
	})
}
