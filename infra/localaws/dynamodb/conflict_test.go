package dynamodb

import (
	"testing"
)

func TestTransactionsHoldTheirItems(t *testing.T) {
	c := &conflicts{held: map[string]bool{}}
	writes := func(keys ...string) []batchWrite {
		var list []batchWrite
		for _, k := range keys {
			list = append(list, batchWrite{mutation: mutation{table: "t"}, key: []byte(k)})
		}
		return list
	}
	release, err := c.hold(writes("a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.check("t", []byte("b")); err == nil || c.check("other", []byte("b")) != nil || c.check("t", []byte("c")) != nil {
		t.Errorf("single writes: %v", err)
	}
	other, err := c.hold(writes("c", "b"))
	f, ok := err.(*failure)
	if other != nil || !ok || len(f.reasons) != 2 || f.reasons[0].code != reasonNone || f.reasons[1].code != reasonConflict {
		t.Fatalf("%+v", err)
	}
	if err := c.check("t", []byte("c")); err != nil {
		t.Error("a refused transaction holds an item")
	}
	release()
	again, err := c.hold(writes("c", "b"))
	if err != nil {
		t.Fatal(err)
	}
	again()
	if len(c.held) != 0 {
		t.Errorf("%d items are held", len(c.held))
	}
}

func TestWithoutTheOptionNothingConflicts(t *testing.T) {
	var c *conflicts
	release, err := c.hold(nil)
	if err != nil || c.check("t", nil) != nil {
		t.Error(err)
	}
	c.wait()
	release()
}
