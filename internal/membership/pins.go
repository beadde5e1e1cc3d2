//go:build pins

package membership

import (
	_ "github.com/hashicorp/memberlist"
	_ "github.com/hashicorp/serf/coordinate"
)
