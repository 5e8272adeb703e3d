package s3

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// TestStoredFormatStays: rows are read as they were written. A member that is added must be
// optional, and gets a row of its own here.
func TestStoredFormatStays(t *testing.T) {
	made := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		row  any
		want string
	}{
		{
			&bucket{Made: made, Versioned: true, Rules: []rule{{ID: "r", Days: 30, Newer: 19, Markers: true}}},
			`{"made":"2026-11-27T09:00:00Z","versioned":true,"rules":[{"id":"r","days":30,"newer":19,"markers":true}]}`,
		},
		{
			&bucket{Made: made, Rules: []rule{{Prefix: "p/", Current: 90, Days: 1}}},
			`{"made":"2026-11-27T09:00:00Z","rules":[{"prefix":"p/","current":90,"days":1}]}`,
		},
		{&version{ID: "M", Made: made, Marker: true}, `{"id":"M","made":"2026-11-27T09:00:00Z","marker":true}`},
		{
			&version{
				ID: "V", Made: made, ETag: "e", Size: 3, Type: "text/plain", Meta: map[string]string{"write": "w"},
				SHA256: "s", CRC32: "c", Sent: true, Content: "F",
			},
			`{"id":"V","made":"2026-11-27T09:00:00Z","etag":"e","size":3,"type":"text/plain","meta":{"write":"w"},"sha256":"s","crc32":"c","sent":true,"content":"F"}`,
		},
	} {
		got, err := json.Marshal(c.row)
		if err != nil || string(got) != c.want {
			t.Errorf("stored %s, want %s: %v", got, c.want, err)
		}
		back := reflect.New(reflect.TypeOf(c.row).Elem()).Interface()
		if err := json.Unmarshal([]byte(c.want), back); err != nil || !reflect.DeepEqual(back, c.row) {
			t.Errorf("read %+v, want %+v: %v", back, c.row, err)
		}
	}
}
