package webhdfs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// maxAnswer bounds an answer that describes one thing, in bytes.
const maxAnswer = 1 << 20

// A refusal is what a server says about a call that it does not do.
type refusal struct {
	server    string // http://host:port
	user      string // as whom it was asked
	status    int
	exception string // the last word of the Java class, empty if the answer is no WebHDFS
	message   string // first line
}

// readRefusal reads the answer to a call that failed.
func readRefusal(resp *http.Response, server string) *refusal {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // what is there may be enough
	r := &refusal{server: server, status: resp.StatusCode}
	var answer struct {
		RemoteException struct {
			Exception     string `json:"exception"`
			JavaClassName string `json:"javaClassName"`
			Message       string `json:"message"`
		}
	}
	if json.Unmarshal(body, &answer) == nil && answer.RemoteException.Exception != "" {
		e := answer.RemoteException
		r.exception = e.JavaClassName[strings.LastIndexAny(e.JavaClassName, ".$")+1:]
		if r.exception == "" {
			r.exception = e.Exception
		}
		r.message = firstLine(e.Message)
	} else {
		r.message = firstLine(string(body))
	}
	return r
}

// firstLine cuts off the stack of a Java exception, and what no terminal should get.
func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if len(s) > 500 {
		s = s[:500] + "..."
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

func (r *refusal) Error() string {
	if r.exception == "" {
		return r.foreign()
	}
	text := fmt.Sprintf("%s: %s at %s", r.message, r.exception, r.server)
	switch {
	case r.status == http.StatusUnauthorized:
		text += ": " + wantsProof
	case errors.Is(r, fs.ErrPermission):
		text += fmt.Sprintf(" (asked as user %q; HADOOP_USER_NAME names another where the cluster believes it)", r.user)
	case strings.HasSuffix(r.exception, "QuotaExceededException"):
		text += " (remove something there, or ask for a larger quota: hdfs dfs -count -q -h DIRECTORY shows it)"
	case r.exception == "SafeModeException":
		text += " (the name node takes no changes until it has left safe mode: hdfs dfsadmin -safemode get)"
	}
	return text
}

const wantsProof = "the cluster wants proof of who asks, by Kerberos, which millrace does not speak; an HttpFS that does not want it will do"

// foreign describes an answer that does not come from WebHDFS.
func (r *refusal) foreign() string {
	switch {
	case r.status == http.StatusUnauthorized:
		return fmt.Sprintf("%s answers 401: %s", r.server, wantsProof)
	case strings.Contains(r.message, "Hadoop IPC port"):
		return fmt.Sprintf("%s is the port of Hadoop's own protocol, not that of WebHDFS (dfs.namenode.http-address, usually %s)", r.server, defaultHTTP)
	case r.status == http.StatusNotFound:
		return fmt.Sprintf("%s has no WebHDFS: its address is wrong, or dfs.webhdfs.enabled is false", r.server)
	}
	return fmt.Sprintf("%s answers %d %s, which is not WebHDFS: %.200s", r.server, r.status, http.StatusText(r.status), r.message)
}

// kinds are the errors of package fs by the exceptions that mean them.
var kinds = map[string]error{
	"FileNotFoundException":          fs.ErrNotExist,
	"FileAlreadyExistsException":     fs.ErrExist,
	"AlreadyBeingCreatedException":   fs.ErrExist,
	"AccessControlException":         fs.ErrPermission,
	"SecurityException":              fs.ErrPermission,
	"UnresolvedPathException":        fs.ErrInvalid,
	"InvalidPathException":           fs.ErrInvalid,
	"ParentNotDirectoryException":    errNoDirectory,
	"RecoveryInProgressException":    fs.ErrExist,
	"NotReplicatedYetException":      errLater,
	"StandbyException":               errLater,
	"ObserverRetryOnActiveException": errLater,
	"SafeModeException":              errLater,
	"RetriableException":             errLater,
	"ServerTooBusyException":         errLater,
	"NoNamenodesAvailableException":  errLater,
	"ConnectException":               errLater,
	"SocketTimeoutException":         errLater,
}

var (
	errNoDirectory = errors.New("is no directory")
	// errLater marks what may be otherwise in a moment, or at the other name node.
	errLater = errors.New("not now")
	// errStall ends a request of which nothing moves.
	errStall = errors.New("nothing has come for too long")
	// errBroken marks an answer that ended too early.
	errBroken = errors.New("the connection broke off")
)

// Is makes errors.Is find fs.ErrNotExist and its like.
func (r *refusal) Is(target error) bool {
	if r.exception == "" {
		return target == errLater && r.busy() || target == fs.ErrPermission && r.status == http.StatusUnauthorized
	}
	return target == kinds[r.exception] || target == errLater && r.busy()
}

// busy reports whether a server, or a gateway before it, says that it can not answer now.
func (r *refusal) busy() bool {
	switch r.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// again reports whether a call that failed may succeed if it is repeated: it was not answered, or with "not now".
func again(err error) bool {
	return errors.Is(err, errLater) || errors.Is(err, errBroken) || errors.Is(err, errSilent)
}

// errSilent marks a server that gave no answer.
var errSilent = errors.New("gave no answer")

// unreached describes a server that gave no answer. The text of an error of package http would have the whole address,
// and in it the token.
func unreached(server, what string, err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if d, ok := errors.AsType[*net.DNSError](err); ok && d.IsNotFound {
		return fmt.Errorf("the name %q of the %s is not known here: %w (%s)", d.Name, what, err, unknownName[what])
	}
	return fmt.Errorf("%s %s %w: %w", what, server, errSilent, err)
}

const (
	nameNode = "name node"
	dataNode = "data node"
)

// unknownName says what to do about a name that does not resolve.
var unknownName = map[string]string{
	nameNode: "HADOOP_CONF_DIR, or the path, has another name than the network",
	dataNode: "the name node has sent us there: let this machine resolve the names of the cluster, as in /etc/hosts, or let the cluster give " +
		"names that do, by dfs.datanode.hostname, or read through HttpFS",
}
