package flow

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/millrace/millrace/topology"
)

// BenchmarkChange is one flow that ends and one that begins, with new rates, beside so
// many others, on 600 nodes in 30 racks. Flows of the same racks and nodes share a class,
// so the cost levels off where more flows make no more classes.
func BenchmarkChange(b *testing.B) {
	for _, ends := range []string{"nodes", "racks"} {
		for _, flows := range []int{10, 100, 1000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/flows=%d", ends, flows), func(b *testing.B) { benchChange(b, ends == "racks", flows) })
		}
	}
}

func benchChange(b *testing.B, racks bool, flows int) {
	topo := uniform(b, 30, 20, topology.Mbps(250), topology.Gbps(1))
	n := network(b, topo, Config{})
	rng := rand.New(rand.NewPCG(1, 2))
	spec := func() Spec {
		s := Spec{From: Node(topology.NodeID(rng.IntN(600))), To: Node(topology.NodeID(rng.IntN(600))), Bytes: 1e6 * (1 + rng.Float64())}
		if racks {
			s.From = Rack(topology.RackID(rng.IntN(30)))
		}
		return s
	}
	for range flows {
		n.Start(0, spec())
	}
	for b.Loop() {
		at := n.Next()
		for {
			if _, ok := n.Done(at); !ok {
				break
			}
			n.Start(at, spec())
		}
	}
	_, classes := n.Flows()
	b.ReportMetric(float64(classes), "classes")
}

// BenchmarkMatching is one choice of circuits.
func BenchmarkMatching(b *testing.B) {
	for _, racks := range []int{10, 20, 30, 60} {
		b.Run(fmt.Sprintf("racks=%d", racks), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 3))
			w := make([][]int64, racks)
			for i := range w {
				w[i] = make([]int64, racks)
				for j := range w[i] {
					w[i][j] = rng.Int64N(1e10)
				}
			}
			for b.Loop() {
				match(w, nil)
			}
		})
	}
}
