// Package program tells from the first bytes of an executable what a machine needs to start it, and what of that a
// machine lacks. A Go program built with cgo needs a dynamic loader, which a container with nothing but one binary
// does not have; the kernel then says only "no such file or directory".
package program

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
)

// HeadBytes is how much of an executable [Of] wants to see. Linkers put the name of the loader there.
const HeadBytes = 4096

// Needs is what a machine must have to start an executable.
type Needs struct {
	Platform string // such as linux/amd64, or windows; "" if the file runs anywhere, like a script
	Loader   string // the path of the dynamic loader; "" if it needs none
}

// A Machine is what can start executables.
type Machine struct {
	Platform string
	// Lacks lists those of the common interpreters for this platform that the machine does not have: loaders and the
	// shell. What is not listed may be there.
	Lacks []string
}

// Equal reports whether two machines start the same executables.
func (m Machine) Equal(o Machine) bool {
	return m.Platform == o.Platform && slices.Equal(m.Lacks, o.Lacks)
}

// Shell is the interpreter of the commands of streaming jobs.
const Shell = "/bin/sh"

// loaders are the dynamic loaders of Linux distributions, by GOARCH: those of glibc and of musl.
var loaders = map[string][]string{
	"amd64":   {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"},
	"arm64":   {"/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-aarch64.so.1"},
	"386":     {"/lib/ld-linux.so.2", "/lib/ld-musl-i386.so.1"},
	"arm":     {"/lib/ld-linux-armhf.so.3", "/lib/ld-musl-armhf.so.1"},
	"riscv64": {"/lib/ld-linux-riscv64-lp64d.so.1", "/lib/ld-musl-riscv64.so.1"},
}

// Here describes the machine that this process runs on.
func Here() Machine {
	m := Machine{Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if runtime.GOOS != "linux" {
		return m
	}
	for _, path := range append([]string{Shell}, loaders[runtime.GOARCH]...) {
		if _, err := os.Stat(path); os.IsNotExist(err) {
			m.Lacks = append(m.Lacks, path)
		}
	}
	return m
}

// Read returns the needs of an executable.
func Read(f io.ReaderAt) (Needs, error) {
	head := make([]byte, HeadBytes)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return Needs{}, err
	}
	return Of(head[:n]), nil
}

// Of returns the needs of the executable that begins with head.
func Of(head []byte) Needs {
	switch {
	case bytes.HasPrefix(head, []byte("MZ")):
		return Needs{Platform: "windows"}
	case len(head) >= 4 && (binary.LittleEndian.Uint32(head) == 0xfeedfacf || binary.BigEndian.Uint32(head) == 0xcafebabe):
		return Needs{Platform: "darwin"}
	case len(head) < 20 || !bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		return Needs{}
	}
	return Needs{Platform: "linux/" + machine(head), Loader: loader(head)}
}

// machine returns the GOARCH that an ELF header names.
func machine(head []byte) string {
	order, little := binary.ByteOrder(binary.BigEndian), head[elf.EI_DATA] == byte(elf.ELFDATA2LSB)
	if little {
		order = binary.LittleEndian
	}
	m := elf.Machine(order.Uint16(head[18:]))
	name, ok := machines[m]
	if !ok {
		name = fmt.Sprintf("machine %d", m)
	}
	if m == elf.EM_PPC64 && little {
		name += "le"
	}
	return name
}

var machines = map[elf.Machine]string{
	elf.EM_X86_64: "amd64", elf.EM_386: "386", elf.EM_AARCH64: "arm64", elf.EM_ARM: "arm", elf.EM_RISCV: "riscv64",
	elf.EM_PPC64: "ppc64", elf.EM_S390: "s390x", elf.EM_LOONGARCH: "loong64",
}

// loader returns the dynamic loader that an ELF program asks for, or "".
func loader(head []byte) string {
	f, err := elf.NewFile(bytes.NewReader(withoutSections(head)))
	if err != nil {
		return ""
	}
	i := slices.IndexFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP && p.Filesz <= HeadBytes })
	if i < 0 {
		return ""
	}
	path := make([]byte, f.Progs[i].Filesz)
	if _, err := io.ReadFull(f.Progs[i].Open(), path); err != nil {
		return ""
	}
	return strings.TrimRight(string(path), "\x00")
}

// withoutSections returns the head with a header that names no sections. Their table is at the end of the file,
// which nobody has read, and nothing here needs it.
func withoutSections(head []byte) []byte {
	h := bytes.Clone(head)
	switch {
	case h[elf.EI_CLASS] == byte(elf.ELFCLASS64) && len(h) >= 64:
		clear(h[0x28:0x30])
		clear(h[0x3c:0x40])
	case h[elf.EI_CLASS] == byte(elf.ELFCLASS32) && len(h) >= 52:
		clear(h[0x20:0x24])
		clear(h[0x30:0x34])
	}
	return h
}

// Runs reports whether a machine of one platform runs programs of another. 64-bit kernels run 32-bit programs.
func Runs(have, wants string) bool {
	system, _, _ := strings.Cut(have, "/")
	return wants == "" || have == wants || system == wants || have == "linux/amd64" && wants == "linux/386" || have == "linux/arm64" && wants == "linux/arm"
}

// A Misfit says why none of some machines can start an executable.
type Misfit struct {
	Needs     Needs
	Platforms []string // of the machines
	Build     []string // settings of the go command for an executable that starts on them
}

func (e *Misfit) Error() string {
	const on = "which no worker has"
	build := strings.Join(e.Build, " ") + " go build"
	switch n := e.Needs; {
	case n.Loader == Shell:
		return fmt.Sprintf("commands run in a shell, %s, %s: start workers where there is one (for containers: make cluster BASE=shell, or BASE=python)", Shell, on)
	case n.Loader != "" && slices.ContainsFunc(e.Platforms, func(p string) bool { return Runs(p, n.Platform) }):
		return fmt.Sprintf("it needs the loader %s, %s: build it with %s", n.Loader, on, build)
	default:
		return fmt.Sprintf("it is for %s, and the workers are %s: build it with %s", n.Platform, strings.Join(e.Platforms, ", "), build)
	}
}

// Start returns nil if one of the machines can start an executable, or if there are none. Otherwise it returns a
// [Misfit].
func (n Needs) Start(machines []Machine) error {
	bad := &Misfit{Needs: n}
	for _, m := range machines {
		fits := m.Platform == "" || Runs(m.Platform, n.Platform)
		if fits && !slices.Contains(m.Lacks, n.Loader) {
			return nil
		}
		if fits || bad.Build == nil {
			bad.Build = buildEnv(m.Platform)
		}
		if !slices.Contains(bad.Platforms, m.Platform) {
			bad.Platforms = append(bad.Platforms, m.Platform)
		}
	}
	if len(machines) == 0 {
		return nil
	}
	return bad
}

// buildEnv returns the settings with which the go command makes a program that a platform starts without a loader.
func buildEnv(platform string) []string {
	system, arch, _ := strings.Cut(platform, "/")
	return []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + arch}
}
