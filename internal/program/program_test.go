package program

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// elfHead is the beginning of an executable for a machine.
func elfHead(machine elf.Machine, data elf.Data) []byte {
	order := binary.ByteOrder(binary.BigEndian)
	if data == elf.ELFDATA2LSB {
		order = binary.LittleEndian
	}
	head := make([]byte, 20)
	copy(head, elf.ELFMAG)
	head[elf.EI_DATA] = byte(data)
	order.PutUint16(head[18:], uint16(machine))
	return head
}

// withLoader is the beginning of a 64-bit executable that asks for a loader.
func withLoader(machine elf.Machine, path string) []byte {
	head := elfHead(machine, elf.ELFDATA2LSB)
	head[elf.EI_CLASS], head[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.EV_CURRENT)
	head = append(head, make([]byte, 64+56-20)...)
	le := binary.LittleEndian
	le.PutUint16(head[16:], uint16(elf.ET_EXEC))
	le.PutUint32(head[20:], uint32(elf.EV_CURRENT))
	le.PutUint64(head[32:], 64)    // where the program headers are
	le.PutUint64(head[40:], 1<<40) // where the sections are: far behind the head
	le.PutUint16(head[52:], 64)    // bytes of this header
	le.PutUint16(head[54:], 56)    // bytes of a program header
	le.PutUint16(head[56:], 1)     // program headers
	le.PutUint16(head[58:], 64)    // bytes of a section header
	le.PutUint16(head[60:], 30)    // sections
	le.PutUint16(head[62:], 29)    // the section of names
	p := head[64:]
	le.PutUint32(p, uint32(elf.PT_INTERP))
	le.PutUint64(p[8:], 120)
	le.PutUint64(p[32:], uint64(len(path)+1))
	le.PutUint64(p[40:], uint64(len(path)+1))
	return append(append(head, path...), 0)
}

// TestNeeds: the beginning of an executable says what it is for; what says nothing runs anywhere.
func TestNeeds(t *testing.T) {
	const glibc = "/lib64/ld-linux-x86-64.so.2"
	for _, x := range []struct {
		head []byte
		want Needs
	}{
		{elfHead(elf.EM_X86_64, elf.ELFDATA2LSB), Needs{Platform: "linux/amd64"}},
		{elfHead(elf.EM_AARCH64, elf.ELFDATA2LSB), Needs{Platform: "linux/arm64"}},
		{elfHead(elf.EM_S390, elf.ELFDATA2MSB), Needs{Platform: "linux/s390x"}},
		{elfHead(elf.EM_PPC64, elf.ELFDATA2MSB), Needs{Platform: "linux/ppc64"}},
		{elfHead(elf.EM_PPC64, elf.ELFDATA2LSB), Needs{Platform: "linux/ppc64le"}},
		{elfHead(elf.EM_VAX, elf.ELFDATA2LSB), Needs{Platform: fmt.Sprint("linux/machine ", int(elf.EM_VAX))}},
		{withLoader(elf.EM_X86_64, glibc), Needs{"linux/amd64", glibc}},
		{withLoader(elf.EM_X86_64, glibc)[:130], Needs{Platform: "linux/amd64"}},
		{elfHead(elf.EM_X86_64, elf.ELFDATA2LSB)[:19], Needs{}},
		{[]byte("MZ\x90"), Needs{Platform: "windows"}},
		{[]byte{0xcf, 0xfa, 0xed, 0xfe, 7}, Needs{Platform: "darwin"}},
		{[]byte{0xca, 0xfe, 0xba, 0xbe}, Needs{Platform: "darwin"}},
		{[]byte("#!/bin/sh\nexec cat\n\n\n"), Needs{}},
		{nil, Needs{}},
	} {
		if got := Of(x.head); got != x.want {
			t.Errorf("%q needs %+v, want %+v", x.head, got, x.want)
		}
	}
}

// TestBuilt: what the go command makes without cgo needs no loader, also for another machine.
func TestBuilt(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "exe")
	cmd := exec.Command("go", "build", "-o", exe, source)
	cmd.Env = append(os.Environ(), buildEnv("linux/amd64")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := os.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := Read(f); err != nil || got != (Needs{Platform: "linux/amd64"}) {
		t.Errorf("needs %+v, %v", got, err)
	}
}

// TestMachines: 64-bit kernels run 32-bit programs; a file that says only its system runs on each of its machines.
func TestMachines(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		{"linux/amd64", "linux/amd64"}: true, {"linux/amd64", "linux/386"}: true, {"linux/arm64", "linux/arm"}: true, {"darwin/arm64", "darwin"}: true,
		{"linux/386", "linux/amd64"}: false, {"linux/amd64", "linux/arm64"}: false, {"linux/amd64", "windows"}: false,
	} {
		if got := Runs(pair[0], pair[1]); got != want {
			t.Errorf("%s runs programs for %s: %t", pair[0], pair[1], got)
		}
	}
}

// TestMisfits: an executable that nobody can start is refused with what is missing and how to build it.
func TestMisfits(t *testing.T) {
	const glibc = "/lib64/ld-linux-x86-64.so.2"
	bare := Machine{Platform: "linux/amd64", Lacks: []string{Shell, glibc}}
	whole := Machine{Platform: "linux/amd64"}
	arm := Machine{Platform: "linux/arm64", Lacks: []string{"/lib/ld-linux-aarch64.so.1"}}
	old := Machine{} // a worker that does not say what it is
	dynamic, static, script := Needs{"linux/amd64", glibc}, Needs{Platform: "linux/amd64"}, Needs{Loader: Shell}
	for what, x := range map[string]struct {
		needs    Needs
		machines []Machine
		says     string // "" if it can start
	}{
		"nobody is there":                   {dynamic, nil, ""},
		"an old worker":                     {dynamic, []Machine{old}, ""},
		"a static program":                  {static, []Machine{bare}, ""},
		"a machine with the loader":         {dynamic, []Machine{bare, whole}, ""},
		"no machine with the loader":        {dynamic, []Machine{bare, arm}, "it needs the loader /lib64/ld-linux-x86-64.so.2, which no worker has: build it with CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build"},
		"a loader that nobody looks for":    {Needs{"linux/amd64", "/nix/store/x/ld.so"}, []Machine{bare}, ""},
		"another processor":                 {static, []Machine{arm}, "it is for linux/amd64, and the workers are linux/arm64: build it with CGO_ENABLED=0 GOOS=linux GOARCH=arm64 go build"},
		"another system":                    {Needs{Platform: "darwin"}, []Machine{bare, arm}, "it is for darwin, and the workers are linux/amd64, linux/arm64: build it with CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build"},
		"commands where there is no shell":  {script, []Machine{bare}, "commands run in a shell, /bin/sh, which no worker has"},
		"commands where there is a shell":   {script, []Machine{bare, whole}, ""},
		"a script that says nothing itself": {Needs{}, []Machine{bare}, ""},
	} {
		err := x.needs.Start(x.machines)
		if said := fmt.Sprint(err); (err == nil) != (x.says == "") || !strings.HasPrefix(said, x.says) && err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestThisMachine: this machine starts what is built on it, and lacks no interpreter that is there.
func TestThisMachine(t *testing.T) {
	m := Here()
	for _, path := range m.Lacks {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is there", path)
		}
	}
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	defer exe.Close()
	needs, err := Read(exe)
	if err == nil {
		err = needs.Start([]Machine{m})
	}
	if err != nil {
		t.Error(err)
	}
	if slices.Contains(m.Lacks, "") {
		t.Error("an interpreter without a name")
	}
}

// FuzzOf: no file of a stranger makes the master fail.
func FuzzOf(f *testing.F) {
	f.Add(withLoader(elf.EM_X86_64, "/lib64/ld-linux-x86-64.so.2"))
	f.Add(elfHead(elf.EM_PPC64, elf.ELFDATA2MSB))
	f.Fuzz(func(t *testing.T, head []byte) {
		if n := Of(head[:min(len(head), HeadBytes)]); len(n.Loader) > HeadBytes {
			t.Errorf("a loader of %d bytes", len(n.Loader))
		}
	})
}
