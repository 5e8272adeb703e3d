package s3

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io/fs"
	"localaws/disk"
	"net/http"
	"strings"
	"time"
)

const day = 24 * time.Hour

// rule is a rule of a lifecycle. Days count from the time when a version was replaced, and Current from the time when it
// was made.
type rule struct {
	ID      string `json:"id,omitempty"`
	Prefix  string `json:"prefix,omitempty"`  // of the keys that it is about
	Current int    `json:"current,omitempty"` // an object is deleted after so many days; 0: none is
	Days    int    `json:"days,omitempty"`    // a version that is not current any more expires after them; 0: none expires
	Newer   int    `json:"newer,omitempty"`   // so many of these versions do not expire
	Markers bool   `json:"markers,omitempty"` // a marker without versions below it expires
}

type lifecycle struct {
	XMLName   xml.Name        `xml:"LifecycleConfiguration"`
	Namespace string          `xml:"xmlns,attr"`
	Rules     []lifecycleRule `xml:"Rule"`
}

// lifecycleRule is a rule as the protocol has it. Other holds everything that is not implemented.
type lifecycleRule struct {
	ID     string `xml:",omitempty"`
	Filter *filter
	Status string

	Noncurrent *noncurrent `xml:"NoncurrentVersionExpiration"`
	Expiration *expiration
	Other      []node `xml:",any"`
}

type filter struct {
	Prefix string
	Other  []node `xml:",any"`
}

type noncurrent struct {
	Newer int    `xml:"NewerNoncurrentVersions,omitempty"`
	Days  int    `xml:"NoncurrentDays"`
	Other []node `xml:",any"`
}

type expiration struct {
	Days    int    `xml:",omitempty"`
	Markers bool   `xml:"ExpiredObjectDeleteMarker,omitempty"`
	Other   []node `xml:",any"`
}

type node struct{ XMLName xml.Name }

// rule returns the stored form of a rule.
func (r lifecycleRule) rule() (rule, error) {
	out := rule{ID: r.ID}
	switch {
	case r.Status != "Enabled" || len(r.Other) > 0:
		return out, notImplemented("rules other than enabled ones about versions")
	case r.Filter == nil || len(r.Filter.Other) > 0:
		return out, notImplemented("rules for a part of the bucket, other than by a prefix")
	case r.Noncurrent == nil && r.Expiration == nil:
		return out, malformed()
	}
	out.Prefix = r.Filter.Prefix
	if n := r.Noncurrent; n != nil {
		if len(n.Other) > 0 || n.Days < 1 || n.Newer < 0 || n.Newer > 100 {
			return out, malformed()
		}
		out.Days, out.Newer = n.Days, n.Newer
	}
	if x := r.Expiration; x != nil {
		switch {
		case len(x.Other) > 0:
			return out, notImplemented("the expiration of objects at a date")
		case x.Days < 0 || (x.Days > 0) == x.Markers: // S3 does not take both in one rule
			return out, malformed()
		}
		out.Current, out.Markers = x.Days, x.Markers
	}
	return out, nil
}

func (e *Engine) putLifecycle(in *request) (*response, error) {
	var asked lifecycle
	if err := xml.Unmarshal(in.body, &asked); err != nil || len(asked.Rules) == 0 {
		return nil, malformed()
	}
	var rules []rule
	for _, r := range asked.Rules {
		stored, err := r.rule()
		if err != nil {
			return nil, err
		}
		rules = append(rules, stored)
	}
	return e.changeBucket(in, func(b *bucket) { b.Rules = rules })
}

func (e *Engine) getLifecycle(in *request) (*response, error) {
	b, err := e.bucket(in)
	if err == nil && len(b.Rules) == 0 {
		err = refuse(http.StatusNotFound, "NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist")
	}
	if err != nil {
		return nil, err
	}
	out := lifecycle{Namespace: namespace}
	for _, r := range b.Rules {
		shown := lifecycleRule{ID: r.ID, Status: "Enabled", Filter: &filter{Prefix: r.Prefix}}
		if r.Days > 0 {
			shown.Noncurrent = &noncurrent{Newer: r.Newer, Days: r.Days}
		}
		if r.Markers || r.Current > 0 {
			shown.Expiration = &expiration{Days: r.Current, Markers: r.Markers}
		}
		out.Rules = append(out.Rules, shown)
	}
	return &response{status: http.StatusOK, out: out}, nil
}

// Hold lets no version expire until release is called, so that a backup can read every content that its copy of the data
// file refers to. Reads and writes continue.
func (e *Engine) Hold() (release func()) {
	e.sweeping.Lock()
	defer e.sweeping.Unlock()
	e.held++
	return func() {
		e.sweeping.Lock()
		defer e.sweeping.Unlock()
		e.held--
	}
}

// sweep applies the rules once an hour.
func (e *Engine) sweep() error {
	e.sweeping.Lock()
	defer e.sweeping.Unlock()
	if e.held > 0 || e.now().Sub(e.swept) < time.Hour {
		return nil
	}
	return e.expire()
}

// expire applies the rules: it deletes objects, and removes versions and then their contents.
func (e *Engine) expire() error {
	e.swept = e.now()
	var gone []string
	err := e.store.Update(func(tx *disk.Tx) error {
		gone = nil
		return tx.Bucket(bucketTable).ForEach(func(name, row []byte) error {
			var b bucket
			if err := json.Unmarshal(row, &b); err != nil || len(b.Rules) == 0 {
				return err
			}
			contents, err := e.expireOf(b, tx.Bucket(versionTable).Bucket(name))
			gone = append(gone, contents...)
			return err
		})
	})
	if err != nil {
		return err
	}
	for _, content := range gone {
		if err := e.contents.remove(content); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// expireOf applies the rules of a bucket, and returns the names of the contents of the removed versions.
func (e *Engine) expireOf(b bucket, table *disk.Bucket) (contents []string, err error) {
	var rows [][]byte    // to remove
	var deleted []string // keys
	judge := func(h history) {
		if h.key == "" {
			return
		}
		gone := b.judge(h, e.now())
		for _, i := range gone.versions {
			rows = append(rows, h.rows[i])
			if v := h.versions[i]; !v.Marker {
				contents = append(contents, v.Content)
			}
		}
		if gone.object {
			deleted = append(deleted, h.key)
		}
	}
	var h history
	r := readerOf(table)
	for more := r.seek(""); more; more = r.next() {
		if r.newest {
			judge(h)
			h = history{key: r.key}
		}
		h.versions, h.rows = append(h.versions, r.version), append(h.rows, r.row)
	}
	judge(h)
	if r.err != nil {
		return nil, r.err
	}
	for _, row := range rows {
		if err := table.Delete(row); err != nil {
			return nil, err
		}
	}
	for _, key := range deleted {
		if err := addVersion(table, key, e.marker()); err != nil {
			return nil, err
		}
	}
	return contents, nil
}

// history has all versions of a key, the newest first, and their rows.
type history struct {
	key      string
	versions []version
	rows     [][]byte
}

// expiry is the result of a bucket's rules for a history: the versions to remove, and whether to delete the object.
type expiry struct {
	versions []int
	object   bool
}

func (b bucket) judge(h history, now time.Time) expiry {
	var out expiry
	var markers bool
	for _, r := range b.Rules {
		if !strings.HasPrefix(h.key, r.Prefix) {
			continue
		}
		old := r.Current > 0 && now.Sub(h.versions[0].Made) > time.Duration(r.Current)*day
		markers = markers || r.Markers || old
		out.object = out.object || old && !h.versions[0].Marker
	}
	for i := range h.versions[1:] {
		if b.expired(h.key, i+1, h.versions[i].Made, now) {
			out.versions = append(out.versions, i+1)
		}
	}
	if h.versions[0].Marker && markers && len(out.versions) == len(h.versions)-1 {
		out.versions = append(out.versions, 0)
	}
	return out
}

// expired reports whether a rule ends a version that so many newer ones follow, and that was replaced at a time.
func (b bucket) expired(key string, newer int, replaced, now time.Time) bool {
	for _, r := range b.Rules {
		if r.Days > 0 && strings.HasPrefix(key, r.Prefix) && newer > r.Newer && now.Sub(replaced) > time.Duration(r.Days)*day {
			return true
		}
	}
	return false
}
