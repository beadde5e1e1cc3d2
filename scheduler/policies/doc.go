// Package policies is the registry: the name of a policy, what it is, its
// parameters, and how to make one. A new family adds its Info to All and
// nothing else changes.
package policies
