package trace

import (
	"fmt"
	"strings"
	"time"
)

// GoString prints the model as a Go literal, to be kept in source.
func (m *Model) GoString() string {
	var b strings.Builder
	fmt.Fprintf(&b, "&Model{\n\tName: %q, Gap: %d * time.Millisecond, Burst: %.3f,\n\tHours: [24]float64{%s},\n\tClusters: []Cluster{\n",
		m.Name, m.Gap/time.Millisecond, m.Burst, numbers(m.Hours[:]))
	for _, c := range m.Clusters {
		fmt.Fprintf(&b, "\t\t{%.5f, [3]float64{%s}, [6]float64{%s}, [3]float64{%s}},\n",
			c.Weight, numbers(c.Mean[:]), numbers(c.Root[:]), numbers(c.Max[:]))
	}
	b.WriteString("\t},\n}")
	return b.String()
}

func numbers(x []float64) string {
	parts := make([]string, len(x))
	for i, v := range x {
		parts[i] = strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", v), "0"), ".")
	}
	return strings.Join(parts, ", ")
}
