package webhdfs

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Limits on what a configuration may be.
const (
	maxConfBytes  = 8 << 20
	maxProperties = 20_000
	maxIncludes   = 8  // deep
	maxVariables  = 20 // replaced in one value, as in Hadoop
)

// A conf is what core-site.xml and hdfs-site.xml say. The nil conf says nothing.
type conf struct {
	dir    string
	values map[string]string
	final  map[string]bool
	env    func(string) (string, bool)
}

// readConf reads the configuration in a directory. One of the two files may be missing.
func readConf(dir string, env func(string) (string, bool)) (*conf, error) {
	c := &conf{dir: dir, values: map[string]string{}, final: map[string]bool{}, env: env}
	missing := 0
	for _, name := range []string{"core-site.xml", "hdfs-site.xml"} {
		file := filepath.Join(dir, name)
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) && missing == 0 {
			missing++
		} else if err := c.file(file, 0); err != nil {
			return nil, fmt.Errorf("the configuration of Hadoop: %w", err)
		}
	}
	return c, nil
}

func (c *conf) file(name string, depth int) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	in := &io.LimitedReader{R: f, N: maxConfBytes + 1}
	err = c.parse(in, name, depth)
	if in.N <= 0 {
		return fmt.Errorf("%s has more than %d bytes", name, maxConfBytes)
	}
	return err
}

// A property is an element of a configuration.
type property struct {
	Name  string `xml:"name"`
	Value string `xml:"value"`
	Final string `xml:"final"`
	// Hadoop also takes <property name="..." value="..."/>.
	NameAttr  string `xml:"name,attr"`
	ValueAttr string `xml:"value,attr"`
}

// parse adds the properties of a file, in their order: later ones count, unless an earlier one is final.
func (c *conf) parse(r io.Reader, name string, depth int) error {
	d := xml.NewDecoder(r)
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		e, ok := t.(xml.StartElement)
		switch {
		case !ok || e.Name.Local == "configuration":
		case e.Name.Local == "include":
			err = c.include(d, e, name, depth)
		case e.Name.Local == "property":
			err = c.add(d, e, name)
		default:
			err = d.Skip()
		}
		if err != nil {
			return err
		}
	}
}

func (c *conf) add(d *xml.Decoder, e xml.StartElement, file string) error {
	var p property
	if err := d.DecodeElement(&p, &e); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(c.values) >= maxProperties {
		return fmt.Errorf("%s: more than %d properties", file, maxProperties)
	}
	key, value := strings.TrimSpace(p.Name+p.NameAttr), strings.TrimSpace(p.Value+p.ValueAttr)
	if key == "" || c.final[key] {
		return nil
	}
	c.values[key] = value
	c.final[key] = strings.TrimSpace(p.Final) == "true"
	return nil
}

// include reads another file of this machine: <xi:include href="site.xml"><xi:fallback/></xi:include>.
func (c *conf) include(d *xml.Decoder, e xml.StartElement, file string, depth int) error {
	var x struct {
		Href     string    `xml:"href,attr"`
		Fallback *struct{} `xml:"fallback"`
	}
	if err := d.DecodeElement(&x, &e); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	u, err := url.Parse(x.Href)
	if err != nil || u.Scheme != "" && u.Scheme != "file" || u.Path == "" || depth >= maxIncludes {
		return fmt.Errorf("%s includes %q: only files of this machine are included, %d deep at most", file, x.Href, maxIncludes)
	}
	path := u.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), path)
	}
	err = c.file(path, depth+1)
	if errors.Is(err, fs.ErrNotExist) && x.Fallback != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s includes %q: %w", file, x.Href, err)
	}
	return nil
}

// get returns a value with its variables replaced, or "" if there is none.
func (c *conf) get(key string) (string, error) {
	if c == nil {
		return "", nil
	}
	v := c.values[key]
	for range maxVariables {
		from := strings.Index(v, "${")
		to := -1
		if from >= 0 {
			to = strings.IndexByte(v[from:], '}')
		}
		if to < 0 {
			return v, nil
		}
		name := v[from+2 : from+to]
		with, ok := c.variable(name)
		if !ok {
			return "", fmt.Errorf("%s in %s is %q, and nothing says what ${%s} is: write the value out", key, c.dir, c.values[key], name)
		}
		if v = v[:from] + with + v[from+to+1:]; len(v) > maxConfBytes {
			break
		}
	}
	return "", fmt.Errorf("%s in %s is %q, which has more than %d variables in one another", key, c.dir, c.values[key], maxVariables)
}

// variable returns a value for ${name}: of the environment, of the process as Java calls it, or another property's.
func (c *conf) variable(name string) (string, bool) {
	if e, ok := strings.CutPrefix(name, "env."); ok {
		e, other, has := strings.Cut(e, "-")
		if v, ok := c.env(strings.TrimSuffix(e, ":")); ok {
			return v, true
		}
		return other, has
	}
	switch name {
	case "user.name":
		return account()
	case "user.home":
		return c.env("HOME")
	}
	v, ok := c.values[name]
	return v, ok
}
