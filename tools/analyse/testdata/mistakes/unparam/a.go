package unparam

import "strconv"

func Four(n int) string { return text(n, 2) + text(n+1, 2) + text(n+2, 2) + text(n+3, 2) }

func text(n, times int) string { // want `unparam: text - times always receives 2`
	return strconv.Itoa(n * times)
}
