package admission

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/scheduler/schedulertest"
)

func source0() *rand.Rand { return rand.New(rand.NewPCG(0, 0)) }

func TestSuite(t *testing.T) {
	one := map[string]string{"always-admit-one": "true"}
	for _, tc := range []struct {
		name   string
		info   *scheduler.Info
		params map[string]string
	}{
		{"unlimited", &UnlimitedInfo, nil},
		{"marp", &MARPInfo, one},
		{"marp 0.5 overtaking", &MARPInfo, map[string]string{"marp": "0.5", "always-admit-one": "true", "overtake": "true", "avoid-deadlock": "true"}},
		{"cbt", &CBTInfo, one},
		{"cbtws", &CBTwSInfo, one},
		{"cbtwat", &CBTwATInfo, one},
	} {
		t.Run(tc.name, func(t *testing.T) {
			schedulertest.AdmissionSuite(t, func() scheduler.Admission { return admissionOf(t, tc.info, tc.params) }, nil, schedulertest.Promises{Patience: time.Hour})
		})
	}
}

func TestScenarios(t *testing.T) {
	schedulertest.Scenarios(t, "testdata", &fair.Info, &UnlimitedInfo, &MARPInfo, &CBTInfo, &CBTwSInfo, &CBTwATInfo)
}
