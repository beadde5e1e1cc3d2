// Package integration holds the tests that need more than one package: programs built and run as a user would. It has
// no code of its own.
package integration
