package s3

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io/fs"
	"localaws/disk"
	"net/http"
	"time"
)

const day = 24 * time.Hour

// rule is a rule of a lifecycle for versions that are not current any more. Days count from the time when a version
// was replaced.
type rule struct {
	ID      string `json:"id,omitempty"`
	Days    int    `json:"days,omitempty"`    // a version expires after them; 0: none expires
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
	Filter *struct {
		Prefix string
		Other  []node `xml:",any"`
	}
	Status     string
	Noncurrent *noncurrent `xml:"NoncurrentVersionExpiration"`
	Expiration *expiration
	Other      []node `xml:",any"`
}

type noncurrent struct {
	Newer int    `xml:"NewerNoncurrentVersions,omitempty"`
	Days  int    `xml:"NoncurrentDays"`
	Other []node `xml:",any"`
}

type expiration struct {
	Markers bool   `xml:"ExpiredObjectDeleteMarker"`
	Other   []node `xml:",any"`
}

type node struct{ XMLName xml.Name }

// rule returns what is stored of a rule.
func (r lifecycleRule) rule() (rule, error) {
	out := rule{ID: r.ID}
	switch {
	case r.Status != "Enabled" || len(r.Other) > 0:
		return out, notImplemented("rules other than enabled ones about versions")
	case r.Filter == nil || r.Filter.Prefix != "" || len(r.Filter.Other) > 0:
		return out, notImplemented("rules for a part of the bucket")
	case r.Noncurrent == nil && r.Expiration == nil:
		return out, malformed()
	}
	if n := r.Noncurrent; n != nil {
		if len(n.Other) > 0 || n.Days < 1 || n.Newer < 0 || n.Newer > 100 {
			return out, malformed()
		}
		out.Days, out.Newer = n.Days, n.Newer
	}
	if x := r.Expiration; x != nil {
		if len(x.Other) > 0 || !x.Markers {
			return out, notImplemented("the expiration of current versions")
		}
		out.Markers = true
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
		shown := lifecycleRule{ID: r.ID, Status: "Enabled", Filter: &struct {
			Prefix string
			Other  []node `xml:",any"`
		}{}}
		if r.Days > 0 {
			shown.Noncurrent = &noncurrent{Newer: r.Newer, Days: r.Days}
		}
		if r.Markers {
			shown.Expiration = &expiration{Markers: true}
		}
		out.Rules = append(out.Rules, shown)
	}
	return &response{status: http.StatusOK, out: out}, nil
}

// sweep applies the rules once an hour.
func (e *Engine) sweep() error {
	e.sweeping.Lock()
	defer e.sweeping.Unlock()
	if e.now().Sub(e.swept) < time.Hour {
		return nil
	}
	return e.expire()
}

// expire removes the versions that a rule says are expired, and then their contents.
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
			contents, err := b.expire(tx.Bucket(versionTable).Bucket(name), e.now())
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

// expire removes the expired versions of a bucket, and returns the names of their contents.
func (b bucket) expire(table *disk.Bucket, now time.Time) (contents []string, err error) {
	var rows [][]byte
	var all []version // of the present key, the newest first
	var of [][]byte   // their rows
	judge := func() {
		kept := len(all)
		for i, v := range all {
			if i > 0 && b.expired(i, all[i-1].Made, now) {
				rows, kept = append(rows, of[i]), kept-1
				if !v.Marker {
					contents = append(contents, v.Content)
				}
			}
		}
		if kept == 1 && all[0].Marker && b.dropsMarkers() {
			rows = append(rows, of[0])
		}
		all, of = nil, nil
	}
	r := readerOf(table)
	for more := r.seek(""); more; more = r.next() {
		if r.newest {
			judge()
		}
		all, of = append(all, r.version), append(of, r.row)
	}
	judge()
	for _, row := range rows {
		if err := table.Delete(row); err != nil {
			return nil, err
		}
	}
	return contents, r.err
}

// expired reports whether a rule ends a version that so many newer ones follow, and that was replaced at a time.
func (b bucket) expired(newer int, replaced, now time.Time) bool {
	for _, r := range b.Rules {
		if r.Days > 0 && newer > r.Newer && now.Sub(replaced) > time.Duration(r.Days)*day {
			return true
		}
	}
	return false
}

func (b bucket) dropsMarkers() bool {
	for _, r := range b.Rules {
		if r.Markers {
			return true
		}
	}
	return false
}
