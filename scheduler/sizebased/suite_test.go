package sizebased

import (
	"testing"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
)

var infos = []*scheduler.Info{&FBQInfo, &TAGSInfo, &SITAInfo, &COMPInfo, &SRPTInfo}

func TestSuite(t *testing.T) {
	for _, tc := range []struct {
		name   string
		info   *scheduler.Info
		params map[string]string
		keeps  schedulertest.Promises
	}{
		{"fbq", &FBQInfo, nil, schedulertest.Promises{WorkConserving: true}},
		{"fbq K=4", &FBQInfo, map[string]string{"k": "4", "limits": "5,20,60", "per-queue": "true", "count-wait": "false"}, schedulertest.Promises{WorkConserving: true, Quick: true}},
		{"fbq on completion", &FBQInfo, map[string]string{"limits": "30", "check": "completion"}, schedulertest.Promises{WorkConserving: true, Quick: true}},
		{"fbq fitting", &FBQInfo, map[string]string{"k": "3", "fit": "true"}, schedulertest.Promises{WorkConserving: true, Quick: true}},
		{"tags fitting", &TAGSInfo, map[string]string{"k": "3", "fit": "true"}, schedulertest.Promises{Quick: true}},
		{"sita fitting", &SITAInfo, map[string]string{"fit": "true"}, schedulertest.Promises{Quick: true}},
		{"tags", &TAGSInfo, map[string]string{"limits": "40"}, schedulertest.Promises{}},
		{"tags lending", &TAGSInfo, map[string]string{"limits": "40", "lend": "true"}, schedulertest.Promises{WorkConserving: true, Quick: true}},
		{"tags restarting", &TAGSInfo, map[string]string{"limits": "40", "restart": "true"}, schedulertest.Promises{Quick: true}},
		{"sita", &SITAInfo, map[string]string{"limits": "40"}, schedulertest.Promises{}},
		{"sita K=3", &SITAInfo, map[string]string{"k": "3", "limits": "20,50", "shares": "0.2,0.3,0.5", "predict": "input"}, schedulertest.Promises{Quick: true}},
		{"comp", &COMPInfo, nil, schedulertest.Promises{WorkConserving: true}},
		{"comp K=4", &COMPInfo, map[string]string{"k": "4"}, schedulertest.Promises{WorkConserving: true, Quick: true}},
		{"srpt", &SRPTInfo, nil, schedulertest.Promises{WorkConserving: true}},
		{"sptp", &SRPTInfo, map[string]string{"by": "product", "noise": "0.5"}, schedulertest.Promises{WorkConserving: true, Quick: true}},
	} {
		t.Run(tc.name, func(t *testing.T) { schedulertest.Suite(t, schedulertest.Factory(t, tc.info, tc.params), tc.keeps) })
	}
}

func TestScenarios(t *testing.T) { schedulertest.Scenarios(t, "testdata", infos...) }
