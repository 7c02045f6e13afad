package calc

import "testing"

func TestAdd(t *testing.T) {
	if got := Add(2, 3); got != 5 {
		t.Fatalf("got %d, want 5", got)
	}
}

func TestTable(t *testing.T) {
	for _, row := range []struct {
		name      string
		a, b, sum int
	}{
		{"small", 1, 1, 2},
		{"größer als eins", 2, 2, 5},
		{"zero / none", 0, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := Add(row.a, row.b); got != row.sum {
				t.Errorf("got %d, want %d", got, row.sum)
			}
		})
	}
}

func TestLater(t *testing.T) {
	t.Skip("not yet")
}

func TestDivideByZero(t *testing.T) {
	if got := Divide(1, 0); got != 0 {
		t.Errorf("got %d", got)
	}
}
