package blocks

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestForeground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewService(&Store{}, Config{})
		if w := s.weight(100); w != 100 {
			t.Errorf("on an idle node a chunk of 100 bytes weighs %d", w)
		}
		first, second := s.foreground.enter(), s.foreground.enter()
		first()
		time.Sleep(time.Second)
		if w := s.weight(100); w != 100*s.cfg.CopyYield {
			t.Errorf("while somebody reads it weighs %d", w)
		}
		second()
		if w := s.weight(0); w != 1 {
			t.Errorf("an empty chunk weighs %d", w)
		}
		time.Sleep(quietAfter / 2)
		if !s.foreground.busy() {
			t.Error("a pause between two reads makes the node idle")
		}
		time.Sleep(quietAfter)
		if w := s.weight(100); w != 100 {
			t.Errorf("afterwards it weighs %d", w)
		}
	})
}
