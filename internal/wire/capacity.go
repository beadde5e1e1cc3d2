package wire

import "fmt"

// Capacity is the room of a worker.
type Capacity struct {
	MapSlots    int32 `json:"map_slots,omitempty"`
	ReduceSlots int32 `json:"reduce_slots,omitempty"`
	Containers  int32 `json:"containers,omitempty"`
	VCores      int32 `json:"vcores,omitempty"`
	MemoryMB    int64 `json:"memory_mb,omitempty"`
}

func (c Capacity) String() string {
	switch {
	case c.Containers > 0:
		return fmt.Sprintf("%d containers", c.Containers)
	case c.MapSlots+c.ReduceSlots > 0:
		return fmt.Sprintf("%d map and %d reduce slots", c.MapSlots, c.ReduceSlots)
	}
	return fmt.Sprintf("%d vcores, %d MB", c.VCores, c.MemoryMB)
}

// Places returns for how many attempts of a kind a node counts when a job's input is divided.
func (c Capacity) Places() int { return int(max(c.Containers, c.ReduceSlots, c.VCores, 1)) }

// Attempts returns how many attempts of the smallest kind fit.
func (c Capacity) Attempts() int {
	switch {
	case c.Containers > 0:
		return int(c.Containers)
	case c.MapSlots+c.ReduceSlots > 0:
		return int(c.MapSlots + c.ReduceSlots)
	}
	return int(c.VCores)
}
