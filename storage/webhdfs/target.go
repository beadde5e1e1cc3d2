package webhdfs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// target reads whom a name node names for the data of a path: in its header, or, from a gateway that does not redirect, in JSON.
// It closes the answer.
func (st *store) target(p string, resp *http.Response) (*url.URL, error) {
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // short or empty
	at := resp.Header.Get("Location")
	if at == "" {
		var answer struct{ Location string }
		_ = json.Unmarshal(body, &answer) // then there is none
		at = answer.Location
	}
	to, err := url.Parse(at)
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		return nil, errors.New("the name node does not say which data node has the data")
	}
	if secure := strings.HasPrefix(st.nodes[0], "https:"); secure && to.Scheme != "https" {
		return nil, fmt.Errorf("the name node is asked with TLS and names %s without it (dfs.http.policy)", to.Host)
	}
	if strings.HasPrefix(to.Path, apiPath+"/") { // Java has put its letters and their accents together, which makes another name
		to.Path, to.RawPath = apiPath+p, apiPath+escape(p)
	}
	return to, nil
}

// addressOf returns the number of a host, by which a name node can be asked for another one.
func addressOf(host string) string {
	all, err := net.LookupHost(host)
	if err != nil || len(all) == 0 {
		return ""
	}
	return all[0]
}
