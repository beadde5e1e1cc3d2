package errorlint

import "io"

func compared(err error) bool { return err == io.ErrClosedPipe } // want `errorlint: comparing with ==`

func excused(err error) bool {
	return err == io.ErrClosedPipe //nolint:errorlint // it comes bare
}

func unexplained(err error) bool {
	return err == io.ErrClosedPipe /* want `errorlint: the comment gives no reason` */ //nolint:errorlint
}

func mended(err error) bool {
	return err == nil /* want `errorlint: the comment excuses nothing` */ //nolint:gosec,errorlint // it comes bare
}

func another(err error) bool {
	return err == io.ErrClosedPipe /* want `errorlint: comparing with ==` */ //nolint:gosec // of another analyser
}
