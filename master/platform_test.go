package master

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"testing"
)

// elfHead is the beginning of an executable for a machine.
func elfHead(machine elf.Machine, order elf.Data) []byte {
	head := make([]byte, 20)
	copy(head, elf.ELFMAG)
	head[elf.EI_DATA] = byte(order)
	if order == elf.ELFDATA2LSB {
		binary.LittleEndian.PutUint16(head[18:], uint16(machine))
	} else {
		binary.BigEndian.PutUint16(head[18:], uint16(machine))
	}
	return head
}

// TestPlatforms: the beginning of an executable says what it is for; what says nothing runs anywhere.
func TestPlatforms(t *testing.T) {
	for _, x := range []struct {
		head []byte
		want string
	}{
		{elfHead(elf.EM_X86_64, elf.ELFDATA2LSB), "linux/amd64"},
		{elfHead(elf.EM_AARCH64, elf.ELFDATA2LSB), "linux/arm64"},
		{elfHead(elf.EM_S390, elf.ELFDATA2MSB), "linux/s390x"},
		{elfHead(elf.EM_PPC64, elf.ELFDATA2MSB), "linux/ppc64"},
		{elfHead(elf.EM_PPC64, elf.ELFDATA2LSB), "linux/ppc64le"},
		{elfHead(elf.EM_VAX, elf.ELFDATA2LSB), fmt.Sprint("linux/machine ", int(elf.EM_VAX))},
		{elfHead(elf.EM_X86_64, elf.ELFDATA2LSB)[:19], ""},
		{[]byte("MZ\x90"), "windows"},
		{[]byte{0xcf, 0xfa, 0xed, 0xfe, 7}, "darwin"},
		{[]byte{0xca, 0xfe, 0xba, 0xbe}, "darwin"},
		{[]byte("#!/bin/sh\nexec cat\n\n\n"), ""},
		{nil, ""},
	} {
		if got := platformIn(x.head); got != x.want {
			t.Errorf("%q is for %q, want %q", x.head, got, x.want)
		}
	}
	for pair, want := range map[[2]string]bool{
		{"linux/amd64", "linux/amd64"}: true, {"linux/amd64", "linux/386"}: true, {"linux/arm64", "linux/arm"}: true,
		{"linux/386", "linux/amd64"}: false, {"linux/amd64", "linux/arm64"}: false, {"linux/amd64", "windows"}: false,
	} {
		if got := runs(pair[0], pair[1]); got != want {
			t.Errorf("%s runs programs for %s: %t", pair[0], pair[1], got)
		}
	}
}

// TestPlatformsAreForgotten: however many executables are shipped, a bounded number is remembered.
func TestPlatformsAreForgotten(t *testing.T) {
	var p platforms
	for i := range 3 * maxPlatforms {
		p.put(fmt.Sprint(i), "linux/amd64")
		if s, ok := p.get(fmt.Sprint(i)); !ok || s != "linux/amd64" || len(p.all) > maxPlatforms {
			t.Fatalf("after %d: %q, %t, %d remembered", i, s, ok, len(p.all))
		}
	}
	if _, ok := p.get("0"); ok {
		t.Error("the first of thousands is remembered")
	}
}
