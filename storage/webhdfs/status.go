package webhdfs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// A status describes a file or directory.
type status struct {
	PathSuffix       string `json:"pathSuffix"` // its name in a listing, empty for what was asked for itself
	Type             string `json:"type"`       // FILE, DIRECTORY or SYMLINK
	Length           int64  `json:"length"`
	ModificationTime int64  `json:"modificationTime"` // milliseconds since 1970
	FileID           int64  `json:"fileId"`
	Permission       string `json:"permission"` // octal
}

const (
	typeFile      = "FILE"
	typeDirectory = "DIRECTORY"
	typeLink      = "SYMLINK"
)

// check refuses what no name node answers.
func (s *status) check() error {
	switch {
	case s.Type != typeFile && s.Type != typeDirectory && s.Type != typeLink:
		return fmt.Errorf("the name node describes something of type %.40q", s.Type)
	case s.Length < 0:
		return fmt.Errorf("the name node describes a file of %d bytes", s.Length)
	case strings.Contains(s.PathSuffix, "/") || s.PathSuffix == "." || s.PathSuffix == "..":
		return fmt.Errorf("the name node lists the name %.300q", s.PathSuffix)
	}
	return nil
}

// version changes when the content does: another file at the path has another number, and one that grew another
// length and time.
func (s *status) version() string {
	return fmt.Sprintf("%d.%d.%d", s.FileID, s.Length, s.ModificationTime)
}

// An info is a status as package fs has it.
type info struct {
	status
	name string
}

var _ fs.FileInfo = info{}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.Length }
func (i info) ModTime() time.Time { return time.UnixMilli(i.ModificationTime) }
func (i info) IsDir() bool        { return i.Type == typeDirectory }
func (i info) Sys() any           { return nil }
func (i info) Version() string    { return i.version() }

func (i info) Mode() fs.FileMode {
	bits, _ := strconv.ParseUint(i.Permission, 8, 12) // 0 for what is not understood: nobody relies on it
	m := fs.FileMode(bits & 0o777)
	switch i.Type {
	case typeDirectory:
		m |= fs.ModeDir
	case typeLink:
		m |= fs.ModeSymlink
	}
	if bits&0o1000 != 0 {
		m |= fs.ModeSticky
	}
	return m
}

// stat asks for the status of a path.
func (st *store) stat(p string) (info, error) {
	body, _, err := st.answer(call{"GET", "GETFILESTATUS", p, nil})
	if err != nil {
		return info{}, err
	}
	s, err := parseStatus(body)
	return info{s, path.Base(p)}, err
}

func parseStatus(body []byte) (status, error) {
	var answer struct{ FileStatus *status }
	if err := json.Unmarshal(body, &answer); err != nil || answer.FileStatus == nil {
		return status{}, fmt.Errorf("the answer is no WebHDFS: %.100q", body)
	}
	return *answer.FileStatus, answer.FileStatus.check()
}

// parseBool reads what DELETE, MKDIRS and RENAME answer.
func parseBool(body []byte) (bool, error) {
	var answer struct{ Boolean *bool }
	if err := json.Unmarshal(body, &answer); err != nil || answer.Boolean == nil {
		return false, fmt.Errorf("the answer is no WebHDFS: %.100q", body)
	}
	return *answer.Boolean, nil
}

// maxListing bounds one page of a listing in bytes. A name node sends 1,000 names a page, an old HttpFS the whole
// directory at once.
const maxListing = 256 << 20

// parsePage reads a page of a listing, of LISTSTATUS_BATCH or LISTSTATUS: the entries, and how many are behind it.
func parsePage(r io.Reader) (list []status, more int64, err error) {
	in := &io.LimitedReader{R: r, N: maxListing + 1}
	type statuses struct {
		FileStatus []status
	}
	var answer struct {
		FileStatuses     *statuses
		DirectoryListing *struct {
			PartialListing   struct{ FileStatuses *statuses } `json:"partialListing"`
			RemainingEntries int64                            `json:"remainingEntries"`
		}
	}
	err = json.NewDecoder(in).Decode(&answer)
	if in.N <= 0 {
		return nil, 0, fmt.Errorf("a page of the listing has more than %d bytes", maxListing)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("the listing is not understood: %w", err)
	}
	found := answer.FileStatuses
	if d := answer.DirectoryListing; d != nil {
		found, more = d.PartialListing.FileStatuses, d.RemainingEntries
	}
	if found == nil || more < 0 {
		return nil, 0, errors.New("the answer is no listing")
	}
	for i := range found.FileStatus {
		if err := found.FileStatus[i].check(); err != nil {
			return nil, 0, err
		}
	}
	return found.FileStatus, more, nil
}
