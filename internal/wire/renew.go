package wire

// RenewRequest asks for a new certificate for the caller.
type RenewRequest struct {
	Public []byte `json:"public"` // Ed25519
}

// Renewed is a new certificate, in DER, and the authorities' certificates that nodes show.
type Renewed struct {
	Cert        []byte   `json:"cert"`
	Authorities [][]byte `json:"authorities"`
}
