package master

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/wire"
)

// platforms caches the platform of shipped executables by user, place and hash. Nobody has verified the hash yet, so it
// says nothing about another user's file.
type platforms struct {
	mu  sync.Mutex // guards all
	all map[string]string
}

// maxPlatforms bounds the cache. A full cache is emptied and filled again.
const maxPlatforms = 1000

func (p *platforms) get(key string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.all[key]
	return s, ok
}

func (p *platforms) put(key, platform string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) >= maxPlatforms || p.all == nil {
		p.all = map[string]string{}
	}
	p.all[key] = platform
}

// headTimeout bounds how long the master tries to read the beginning of an executable. After that the workers find out.
const headTimeout = time.Second

// platformOf returns the platform of an executable, such as linux/amd64, or "" if that is unknown.
func (m *Master) platformOf(ctx context.Context, p *wire.Program, user string) string {
	known := user + "\x00" + p.Exe + "\x00" + p.Hash
	if s, ok := m.made.get(known); ok {
		return s
	}
	ctx, cancel := context.WithTimeout(ctx, headTimeout)
	defer cancel()
	f, err := m.files().As(user, "").Open(ctx, p.Exe)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 20)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return ""
	}
	s := platformIn(head[:n])
	m.made.put(known, s)
	return s
}

// files returns a client of the block store, like that of any client.
func (m *Master) files() *dfs.Client {
	return dfs.NewClient(dfs.Config{Master: m.addr, Client: m.peers, NoLocal: true})
}

// platformIn returns the platform that the beginning of an executable names. Scripts and the like run on any.
func platformIn(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("MZ")):
		return "windows"
	case len(head) >= 4 && (binary.LittleEndian.Uint32(head) == 0xfeedfacf || binary.BigEndian.Uint32(head) == 0xcafebabe):
		return "darwin"
	case len(head) < 20 || !bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		return ""
	}
	order, little := binary.ByteOrder(binary.BigEndian), head[elf.EI_DATA] == byte(elf.ELFDATA2LSB)
	if little {
		order = binary.LittleEndian
	}
	machine := elf.Machine(order.Uint16(head[18:]))
	name, ok := machines[machine]
	if !ok {
		name = fmt.Sprintf("machine %d", machine)
	}
	if machine == elf.EM_PPC64 && little {
		name += "le"
	}
	return "linux/" + name
}

var machines = map[elf.Machine]string{
	elf.EM_X86_64: "amd64", elf.EM_386: "386", elf.EM_AARCH64: "arm64", elf.EM_ARM: "arm", elf.EM_RISCV: "riscv64",
	elf.EM_PPC64: "ppc64", elf.EM_S390: "s390x", elf.EM_LOONGARCH: "loong64",
}

// runs reports whether a worker of one platform runs programs of another. 64-bit kernels run 32-bit programs.
func runs(have, wants string) bool {
	return have == wants || have == "linux/amd64" && wants == "linux/386" || have == "linux/arm64" && wants == "linux/arm"
}
