package worker

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// processes lists what runs in the cage, whoever its parent is now.
func (c *cage) processes() []int {
	all := append(children(c.pid), c.pid)
	if c.uid == 0 || c.apart {
		return all // in a namespace of their own all descend from the first
	}
	all = append(all, ofUser(c.uid)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// memory is what the processes of the cage hold, in bytes.
func (c *cage) memory() (total int64) {
	for _, p := range c.processes() {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p))
		if err != nil {
			continue
		}
		if f := strings.Fields(string(b)); len(f) > 1 {
			pages, err := strconv.ParseInt(f[1], 10, 64)
			if err == nil {
				total += pages * int64(os.Getpagesize())
			}
		}
	}
	return total
}

func children(pid int) (out []int) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	for f := range strings.FieldsSeq(string(b)) {
		if n, err := strconv.Atoi(f); err == nil {
			out = append(append(out, n), children(n)...)
		}
	}
	return out
}

// lookEvery is how often the disk is looked at: a walk costs more than a look at memory.
const lookEvery = 500 * time.Millisecond

// written is what the files of the cage take, in bytes, those included that have lost their names but
// are still open.
func (c *cage) written() int64 {
	if c.uid == 0 || time.Since(c.looked) < lookEvery {
		return 0
	}
	c.looked = time.Now()
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return 0
	}
	defer root.Close()
	var total int64
	// What the program removes meanwhile does not count. The root keeps the walk inside.
	_ = fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if st, err := d.Info(); err == nil {
				total += blocksOf(st)
			}
		}
		return nil
	})
	return total + c.nameless()
}

func blocksOf(st fs.FileInfo) int64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok && s.Uid != 0 { // side files are the worker's
		return s.Blocks * 512
	}
	return 0
}

// nameless is what open files without a name take.
func (c *cage) nameless() (total int64) {
	seen := map[uint64]bool{}
	for _, p := range c.processes() {
		dir := fmt.Sprintf("/proc/%d/fd", p)
		list, _ := os.ReadDir(dir) // it may be gone
		for _, e := range list {
			st, err := os.Stat(dir + "/" + e.Name())
			if err != nil || !st.Mode().IsRegular() {
				continue
			}
			if s, ok := st.Sys().(*syscall.Stat_t); ok && s.Nlink == 0 && !seen[s.Ino] {
				seen[s.Ino] = true
				total += blocksOf(st)
			}
		}
	}
	return total
}
