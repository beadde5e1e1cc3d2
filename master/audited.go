package master

import "github.com/millrace/millrace/internal/api"

// audited lists the calls that change something for others. Of all other calls the audit log has only those that were
// refused.
var audited = []string{
	api.JobSubmit.Name, api.JobKill.Name, api.NodeDrain.Name, api.SchedulerSet.Name, api.UserLimit.Name, api.CertRenew.Name,
	api.DFSSetQuota.Name, api.DFSSafemode.Name, api.DFSDrain.Name, api.DFSBalance.Name, api.DFSDelete.Name, api.DFSRename.Name,
	api.DFSRenameAll.Name, api.DFSSetRights.Name, api.DFSSetReplication.Name, api.DFSSnapshot.Name,
}
