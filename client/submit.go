package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// SpecOf describes a chain of jobs and the program that builds it.
func SpecOf(stages []mapreduce.Job, prog wire.Program, overwrite bool) wire.JobSpec {
	first, last := &stages[0], &stages[len(stages)-1]
	s := wire.JobSpec{
		Name: first.Name, User: first.User, Queue: first.Queue, Pool: first.Pool, Priority: int(first.Priority),
		Deadline: first.Deadline.Milliseconds(), Program: prog, Stages: len(stages), Output: last.Output, Overwrite: overwrite,
		Attempts: first.MaxAttempts, Bad: first.SkipBadRecords,
	}
	if s.Name == "" {
		s.Name = "job"
	}
	for _, in := range first.AllInputs() {
		if len(s.Inputs)+len(in.Paths) <= maxInputs {
			s.Inputs = append(s.Inputs, in.Paths...)
		}
	}
	return s
}

// maxInputs is how many inputs a submission names; what is not named the driver looks at.
const maxInputs = 100

// shipDir is where executables and side files lie in the block store, by their hash.
const shipDir = "/tmp/.millrace/shipped"

// Ship puts a local file into the block store under its hash, unless it is there.
func (c *Client) Ship(ctx context.Context, name string) (path, hash string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", "", fmt.Errorf("ship %s: %w", name, err)
	}
	hash = hex.EncodeToString(h.Sum(nil))
	path = shipDir + "/" + hash
	if _, err := c.dfs.Stat(ctx, path); err == nil {
		return path, hash, nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", "", err
	}
	w, err := c.dfs.Create(ctx, path, dfs.CreateOptions{})
	if errors.Is(err, wire.Exists) {
		return path, hash, nil // somebody else was faster
	}
	if err != nil {
		return "", "", fmt.Errorf("ship %s: %w", name, err)
	}
	if _, err := io.Copy(w, f); err != nil {
		w.Abort()
		return "", "", fmt.Errorf("ship %s: %w", name, err)
	}
	if err := w.Close(); err != nil {
		return "", "", fmt.Errorf("ship %s: %w", name, err)
	}
	return path, hash, nil
}

// ShipSide ships the side files of a chain.
func (c *Client) ShipSide(ctx context.Context, stages []mapreduce.Job) (out []wire.Side, err error) {
	seen := map[string]bool{}
	for _, j := range stages {
		for _, f := range j.SideFiles {
			if seen[f] {
				continue
			}
			seen[f] = true
			path, hash, err := c.Ship(ctx, f)
			if err != nil {
				return nil, fmt.Errorf("side file: %w", err)
			}
			out = append(out, wire.Side{Name: filepath.Base(f), Path: path, Hash: hash})
		}
	}
	return out, nil
}

// Ended reports whether a status is final.
func Ended(s wire.JobStatus) bool { return s.State != "QUEUED" && s.State != "RUNNING" }
