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

	"golang.org/x/sys/unix"
)

// processes lists what runs in the sandbox, whatever its parent is now.
func (c *sandbox) processes() []int {
	all := append(children(c.pid), c.pid)
	if c.uid == 0 || c.apart {
		return all // in a namespace of their own all descend from the first
	}
	others, _ := ofUser(c.uid) // after an error, the next look is soon
	all = append(all, others...)
	slices.Sort(all)
	return slices.Compact(all)
}

// memory returns what the processes of the sandbox use, in bytes: what is resident, and files in memory that
// have no name and are not mapped.
func (c *sandbox) memory() (total int64) {
	var shared int64
	all := c.processes()
	for _, p := range all {
		rss, shmem := resident(p)
		total, shared = total+rss, shared+shmem
	}
	_, files := nameless(all)
	return total + max(0, files-shared)
}

// resident returns what a process uses, in bytes, and how much of it is files in memory.
func resident(pid int) (rss, shmem int64) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "VmRSS:" && f[0] != "RssShmem:" {
			continue
		}
		kb, _ := strconv.ParseInt(f[1], 10, 64) // the kernel writes a number
		if f[0] == "VmRSS:" {
			rss = kb << 10
		} else {
			shmem = kb << 10
		}
	}
	return rss, shmem
}

// children lists the descendants of a process. The kernel lists children with the thread that started them, so
// children asks every thread.
func children(pid int) (out []int) {
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)) // it may be gone
	for _, t := range threads {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		if err != nil {
			continue
		}
		for f := range strings.FieldsSeq(string(b)) {
			if n, err := strconv.Atoi(f); err == nil {
				out = append(append(out, n), children(n)...)
			}
		}
	}
	return out
}

// lookEvery is how often to check the disk, since a walk costs more than a look at memory.
const lookEvery = 500 * time.Millisecond

// written returns the size of the sandbox's files, in bytes, including those that have lost their names but are
// still open.
func (c *sandbox) written() int64 {
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
	// Files that the program removes meanwhile do not count. The root keeps the walk inside.
	_ = fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if st, err := d.Info(); err == nil {
				total += blocksOf(st)
			}
		}
		return nil
	})
	disk, _ := nameless(c.processes())
	return total + disk
}

func blocksOf(st fs.FileInfo) int64 {
	if s, ok := st.Sys().(*syscall.Stat_t); ok && s.Uid != 0 { // side files are the worker's
		return s.Blocks * 512
	}
	return 0
}

// nameless returns the sizes of files without a name, on disk and in memory, that processes have open or
// mapped.
func nameless(pids []int) (disk, memory int64) {
	type file struct{ dev, ino uint64 }
	seen := map[file]bool{}
	for _, p := range pids {
		for _, path := range opened(p) {
			st, err := os.Stat(path)
			if err != nil || !st.Mode().IsRegular() {
				continue
			}
			s, ok := st.Sys().(*syscall.Stat_t)
			if !ok || s.Nlink != 0 || seen[file{s.Dev, s.Ino}] {
				continue
			}
			seen[file{s.Dev, s.Ino}] = true
			if inMemory(path) {
				memory += blocksOf(st)
			} else {
				disk += blocksOf(st)
			}
		}
	}
	return disk, memory
}

// opened returns paths to the files that a process has open, and to the nameless ones that it has mapped.
func opened(pid int) (paths []string) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	list, _ := os.ReadDir(dir + "fd") // it may be gone
	for _, e := range list {
		paths = append(paths, dir+"fd/"+e.Name())
	}
	maps, _ := os.ReadFile(dir + "maps") // likewise
	for line := range strings.Lines(string(maps)) {
		if at, _, ok := strings.Cut(line, " "); ok && strings.HasSuffix(line, "(deleted)\n") {
			paths = append(paths, dir+"map_files/"+at)
		}
	}
	return paths
}

// inMemory reports whether a file is on a file system in memory.
func inMemory(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Type == unix.TMPFS_MAGIC
}
