package attempt

import (
	"encoding/json"
	"io"

	"github.com/millrace/millrace/internal/secure"
)

// orders reads what the worker says to the child: an Order, and then a Credential from time to time.
type orders struct {
	in  *io.LimitedReader
	dec *json.Decoder
}

func newOrders(r io.Reader) *orders {
	in := &io.LimitedReader{R: r}
	return &orders{in, json.NewDecoder(in)}
}

// next reads one of them.
func (o *orders) next(v any) error {
	o.in.N = maxOrder
	return o.dec.Decode(v)
}

// replace gives the holder every certificate that comes, until nothing comes any more.
func (o *orders) replace(h *secure.Holder) {
	for {
		var c Credential
		if o.next(&c) != nil {
			return
		}
		_ = h.Replace([]byte(c.Text)) // the present one stays
	}
}
