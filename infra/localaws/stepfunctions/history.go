package stepfunctions

import (
	"encoding/binary"
	"encoding/json"
	"localaws/disk"
	"strconv"
	"strings"
)

type historyInput struct {
	ARN         string `json:"executionArn"`
	Reverse     bool   `json:"reverseOrder"`
	IncludeData *bool  `json:"includeExecutionData"`
	pageInput
}

// history is the response of GetExecutionHistory; its events have the text of the journal.
type history struct {
	Events    []json.RawMessage `json:"events"`
	NextToken string            `json:"nextToken,omitempty"`
}

func (e *Engine) executionHistory(in *historyInput) (any, error) {
	rec, err := e.record(in.ARN)
	if err != nil {
		return nil, err
	}
	scope := "history " + strconv.FormatUint(rec.Seq, 10) + " " + strconv.FormatBool(in.Reverse)
	limit, after, err := in.page(scope, 1024)
	if err != nil {
		return nil, err
	}
	var last uint64 // the last event of the previous page
	if after != "" {
		if last, err = strconv.ParseUint(after, 10, 64); err != nil {
			return nil, refuse("InvalidToken", "Invalid Token: 'Invalid token'")
		}
	}
	var out *history
	var more bool
	err = e.journal.read(func(tx *disk.Tx) error {
		r := &historyReader{seq: rec.Seq, reverse: in.Reverse, limit: limit, last: last}
		out, more, err = r.read(bucket(tx, bucketJournal).Cursor())
		last = r.last
		return err
	})
	if err != nil {
		return nil, err
	}
	if more {
		out.NextToken = pageToken(scope, strconv.FormatUint(last, 10))
	}
	if in.IncludeData != nil && !*in.IncludeData {
		for i := range out.Events {
			out.Events[i] = withoutData(out.Events[i])
		}
	}
	return out, nil
}

// historyReader reads one page of events after (or, reversed, before) last.
type historyReader struct {
	seq     uint64
	reverse bool
	limit   int
	last    uint64
}

func (r *historyReader) read(c *disk.Cursor) (*history, bool, error) {
	out := &history{Events: []json.RawMessage{}}
	prefix := append(seqKey(r.seq), keyEvents)
	for k, v := r.seek(c, prefix); hasPrefix(k, prefix); k, v = r.step(c) {
		first := binary.BigEndian.Uint64(k[len(prefix):])
		events, err := decodeEvents(v)
		if err != nil {
			return nil, false, err
		}
		for i := range events {
			at := i
			if r.reverse {
				at = len(events) - 1 - i
			}
			id := first + uint64(at)
			if r.last != 0 && (!r.reverse && id <= r.last || r.reverse && id >= r.last) {
				continue
			}
			if len(out.Events) == r.limit {
				return out, true, nil
			}
			out.Events = append(out.Events, append(json.RawMessage(nil), events[at]...))
			r.last = id
		}
	}
	return out, false, nil
}

// seek finds the first entry of the page: the one that holds last or the one after it.
func (r *historyReader) seek(c *disk.Cursor, prefix []byte) (k, v []byte) {
	from := r.last
	if r.reverse && from == 0 {
		from = ^uint64(0)
	}
	k, v = c.Seek(eventsKey(r.seq, from))
	if hasPrefix(k, prefix) && binary.BigEndian.Uint64(k[len(prefix):]) == from {
		return k, v
	}
	if k == nil {
		k, v = c.Last()
	} else {
		k, v = c.Prev()
	}
	if !hasPrefix(k, prefix) && !r.reverse {
		return c.Seek(prefix)
	}
	return k, v
}

func (r *historyReader) step(c *disk.Cursor) (k, v []byte) {
	if r.reverse {
		return c.Prev()
	}
	return c.Next()
}

// withoutData removes the payloads of an event, and the fields that report whether they are
// truncated.
func withoutData(event json.RawMessage) json.RawMessage {
	v, err := parseValue(event)
	obj, ok := v.(object)
	if err != nil || !ok {
		return event
	}
	for i := range obj {
		body, ok := obj[i].val.(object)
		if !ok || !strings.HasSuffix(obj[i].key, "EventDetails") {
			continue
		}
		kept := object{}
		for _, m := range body {
			switch m.key {
			case "input", "output", "inputDetails", "outputDetails": // parameters stay, as AWS leaves them
			default:
				kept = append(kept, m)
			}
		}
		obj[i].val = kept
	}
	return encodeValue(obj)
}
