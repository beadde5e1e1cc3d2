package wire

// Behalf is a request that says on which user's behalf it is made, and whether that user may do everything. The
// server fills in both and ignores what a client says.
type Behalf interface {
	Behalf() (user *string, super *bool)
}

// Held is a request about a file that is open for writing. The server fills in who must own the file.
type Held interface {
	HeldBy() *string
}

// Behalf makes a CreateRequest a [Behalf].
func (r *CreateRequest) Behalf() (user *string, super *bool) { return &r.User, &r.Super }

// Behalf makes a PathRequest a [Behalf].
func (r *PathRequest) Behalf() (user *string, super *bool) { return &r.User, &r.Super }

// Behalf makes a ListRequest a [Behalf].
func (r *ListRequest) Behalf() (user *string, super *bool) { return &r.User, &r.Super }

// Behalf makes a LocateRequest a [Behalf].
func (r *LocateRequest) Behalf() (user *string, super *bool) { return &r.User, &r.Super }

// Behalf makes a MkdirRequest a [Behalf].
func (r *MkdirRequest) Behalf() (user *string, super *bool) { return &r.User, &r.Super }

// Behalf makes a RenameRequest a [Behalf].
func (r *RenameRequest) Behalf() (user *string, super *bool) { return &r.User, &r.Super }

// Behalf makes a RenameAllRequest a [Behalf].
func (r *RenameAllRequest) Behalf() (user *string, super *bool) { return &r.User, &r.Super }

// Behalf makes a DeleteRequest a [Behalf].
func (r *DeleteRequest) Behalf() (user *string, super *bool) { return &r.User, &r.Super }

// Behalf makes a SetRightsRequest a [Behalf].
func (r *SetRightsRequest) Behalf() (user *string, super *bool) { return &r.User, &r.Super }

// Behalf makes a SnapshotRequest a [Behalf].
func (r *SnapshotRequest) Behalf() (user *string, super *bool) { return &r.User, &r.Super }

// Behalf makes a SetReplicationRequest a [Behalf].
func (r *SetReplicationRequest) Behalf() (user *string, super *bool) { return &r.User, &r.Super }

// Behalf makes a QuotaRequest a [Behalf].
func (r *QuotaRequest) Behalf() (user *string, super *bool) { return &r.User, &r.Super }

// Behalf makes a FsckRequest a [Behalf].
func (r *FsckRequest) Behalf() (user *string, super *bool) { return &r.User, &r.Super }

// HeldBy makes a AddBlockRequest [Held].
func (r *AddBlockRequest) HeldBy() *string { return &r.By }

// HeldBy makes a BumpRequest [Held].
func (r *BumpRequest) HeldBy() *string { return &r.By }

// HeldBy makes a CompleteRequest [Held].
func (r *CompleteRequest) HeldBy() *string { return &r.By }

// HeldBy makes a LeaseRequest [Held].
func (r *LeaseRequest) HeldBy() *string { return &r.By }
