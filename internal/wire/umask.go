package wire

import "strconv"

// A Umask is the rights that a client removes from the files (0666) and directories (0777) that it makes, in octal:
// "022". "" leaves it to the cluster, which has 022. (HDFS: fs.permissions.umask-mode, also the client's)
type Umask string

// ParseUmask parses what a user has written.
func ParseUmask(s string) (Umask, error) {
	_, err := Umask(s).Bits(0)
	return Umask(s), err
}

// Bits returns the rights to remove, or otherwise if the client leaves them to the cluster.
func (u Umask) Bits(otherwise uint16) (uint16, error) {
	if u == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseUint(string(u), 8, 16)
	if err != nil || n > 0o777 {
		return 0, Errorf(Invalid, "umask %.20q: must be an octal number from 0 to 777, as 022 or 077", string(u))
	}
	return uint16(n), nil
}
