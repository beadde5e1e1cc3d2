package webhdfs

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// A site is one file system and the addresses of those who answer for it.
type site struct {
	name   string   // as in errors: hdfs://name
	nodes  []string // such as http://host:9870, of one, or two of which one is active
	advice string   // if these addresses are a guess: what to do if it was wrong
}

// errNoConf says what hdfs:///x needs.
var errNoConf = errors.New("which HDFS is meant is in Hadoop's configuration: set HADOOP_CONF_DIR to the directory with core-site.xml and hdfs-site.xml, " +
	"or name the server, as in webhdfs://HOST:9870/PATH")

const (
	defaultHTTP  = "9870"
	defaultHTTPS = "9871"
	defaultRPC   = "8020"
)

// direct returns the site of webhdfs://host:port, or with TLS of swebhdfs://host:port.
func direct(scheme, authority string) (site, error) {
	web, port := "http", defaultHTTP
	if scheme == "swebhdfs" {
		web, port = "https", defaultHTTPS
	}
	if err := checkAuthority(authority); err != nil {
		return site{}, err
	}
	if _, _, err := net.SplitHostPort(authority); err != nil {
		authority = net.JoinHostPort(strings.Trim(authority, "[]"), port)
	}
	return site{name: scheme + "://" + authority, nodes: []string{web + "://" + authority}}, nil
}

func checkAuthority(authority string) error {
	u, err := url.Parse("x://" + authority + "/")
	if err != nil || u.Host != authority || u.Hostname() == "" {
		return fmt.Errorf("%q is no HOST:PORT", authority)
	}
	return nil
}

// site returns the site of hdfs://authority.
func (c *conf) site(authority string) (site, error) {
	if authority == "" {
		return c.defaultSite()
	}
	if err := checkAuthority(authority); err != nil {
		return site{}, err
	}
	services, err := c.list("dfs.nameservices")
	if err != nil {
		return site{}, err
	}
	if slices.Contains(services, authority) {
		return c.service(authority)
	}
	return c.host(authority, services)
}

// defaultSite returns the site of fs.defaultFS.
func (c *conf) defaultSite() (site, error) {
	if c == nil {
		return site{}, errNoConf
	}
	fs, err := c.get("fs.defaultFS")
	if err == nil && fs == "" {
		fs, err = c.get("fs.default.name")
	}
	if err != nil {
		return site{}, err
	}
	u, err := url.Parse(fs)
	switch {
	case fs == "":
		return site{}, fmt.Errorf("core-site.xml in %s has no fs.defaultFS: name the server, as in hdfs://HOST/PATH", c.dir)
	case err != nil || u.Host == "":
	case u.Scheme == "hdfs":
		return c.site(u.Host)
	case u.Scheme == "webhdfs" || u.Scheme == "swebhdfs":
		return direct(u.Scheme, u.Host)
	}
	return site{}, fmt.Errorf("fs.defaultFS in %s is %q, which is no HDFS: name the server, as in hdfs://HOST/PATH", c.dir, fs)
}

// service returns the site of a name service, whose keys end with its name, and with that of a name node if it has two.
func (c *conf) service(name string) (site, error) {
	nodes, err := c.list("dfs.ha.namenodes." + name)
	if err != nil {
		return site{}, err
	}
	keys := []string{"." + name}
	if len(nodes) > 0 {
		keys = nil
		for _, n := range nodes {
			keys = append(keys, "."+name+"."+n)
		}
	}
	s := site{name: "hdfs://" + name}
	for _, key := range keys {
		at, err := c.web(key, "")
		if err != nil {
			return site{}, err
		}
		s.nodes = append(s.nodes, at)
	}
	return s, nil
}

// host returns the site of a name node that is named by its host and perhaps the port of its other protocol, by which
// the configuration may have it.
func (c *conf) host(authority string, services []string) (site, error) {
	keys := []string{""}
	for _, s := range services {
		keys = append(keys, "."+s)
		nodes, err := c.list("dfs.ha.namenodes." + s)
		if err != nil {
			return site{}, err
		}
		for _, n := range nodes {
			keys = append(keys, "."+s+"."+n)
		}
	}
	for _, key := range keys {
		rpc, err := c.rpc(key)
		if err != nil {
			return site{}, err
		}
		if rpc != "" && withPort(rpc, defaultRPC) == withPort(authority, defaultRPC) {
			at, err := c.web(key, rpc)
			return site{name: "hdfs://" + authority, nodes: []string{at}}, err
		}
	}
	return c.guess(authority, services)
}

// guess returns the site of a name node that no configuration knows, at the usual port.
func (c *conf) guess(authority string, services []string) (site, error) {
	web, port, err := c.scheme()
	if err != nil {
		return site{}, err
	}
	host, _, err := net.SplitHostPort(authority)
	if err != nil {
		host = strings.Trim(authority, "[]")
	}
	s := site{name: "hdfs://" + authority, nodes: []string{web + "://" + net.JoinHostPort(host, port)}}
	s.advice = fmt.Sprintf("port %s is a guess: name the address of WebHDFS, as in webhdfs://%s:PORT/PATH, or set HADOOP_CONF_DIR", port, host)
	if len(services) > 0 {
		s.advice += fmt.Sprintf("; the name services in %s are %s", c.dir, strings.Join(services, ", "))
	}
	return s, nil
}

// rpc returns the address by which a name node is known to Hadoop's own clients.
func (c *conf) rpc(key string) (string, error) {
	rpc, err := c.get("dfs.namenode.rpc-address" + key)
	if rpc != "" || err != nil || key != "" {
		return rpc, err
	}
	fs, err := c.get("fs.defaultFS")
	if err != nil {
		return "", err
	}
	if u, err := url.Parse(fs); err == nil && u.Scheme == "hdfs" {
		return u.Host, nil
	}
	return "", nil
}

// web returns the address of a name node's WebHDFS. rpc may be what rpc returned.
func (c *conf) web(key, rpc string) (string, error) {
	web, port, err := c.scheme()
	if err != nil {
		return "", err
	}
	if rpc == "" {
		if rpc, err = c.rpc(key); err != nil {
			return "", err
		}
	}
	name := "dfs.namenode." + web + "-address" + key
	at, err := c.get(name)
	if err != nil {
		return "", err
	}
	host, p, err := net.SplitHostPort(cmp.Or(at, withPort(rpc, port)))
	if at == "" {
		p = port
	}
	if host == "0.0.0.0" || host == "::" || host == "" {
		host, _, _ = net.SplitHostPort(withPort(rpc, port))
	}
	if err != nil || host == "" {
		return "", fmt.Errorf("%s in %s is %q: it must be HOST:PORT, or dfs.namenode.rpc-address%s must be there", name, c.dir, at, key)
	}
	at = net.JoinHostPort(host, p)
	return web + "://" + at, checkAuthority(at)
}

// scheme returns how name nodes are asked, and at which port if nothing says another.
func (c *conf) scheme() (web, port string, err error) {
	policy, err := c.get("dfs.http.policy")
	if policy == "HTTPS_ONLY" {
		return "https", defaultHTTPS, err
	}
	return "http", defaultHTTP, err
}

func (c *conf) list(key string) (out []string, err error) {
	v, err := c.get(key)
	for s := range strings.SplitSeq(v, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out, err
}

func withPort(authority, port string) string {
	if _, _, err := net.SplitHostPort(authority); err == nil || authority == "" {
		return authority
	}
	return net.JoinHostPort(strings.Trim(authority, "[]"), port)
}
