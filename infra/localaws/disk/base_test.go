package disk

import (
	"fmt"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// TestPagesOfNewKeysAreFull: keys that follow one another fill their pages, in several checkpoints.
func TestPagesOfNewKeysAreFull(t *testing.T) {
	s, _ := openIn(t, scratch(t))
	for part := range 4 {
		err := s.Update(func(tx *Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("b"))
			for i := 0; i < 500 && err == nil; i++ {
				err = b.Put(fmt.Appendf(nil, "%d-%06d", part, i), make([]byte, 100))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		toFile(t, s)
	}
	err := s.db.View(func(tx *bolt.Tx) error {
		if used := tx.Bucket([]byte("b")).Stats(); used.LeafInuse*100 < used.LeafAlloc*85 {
			return fmt.Errorf("%d of %d bytes are used", used.LeafInuse, used.LeafAlloc)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
