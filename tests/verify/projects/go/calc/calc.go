// Package calc adds and divides.
package calc

// Add adds two numbers.
func Add(a, b int) int { return a + b }

// Divide divides, and panics for 0.
func Divide(a, b int) int { return a / b }
