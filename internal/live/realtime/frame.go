package realtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"time"

	"piloto/internal/ground/jcs"
)

// MaxFrame bounds a frame, in bytes: API Gateway allows 32 KB, and additions of a proxy must fit
// as well.
const MaxFrame = 28 << 10

// frame is the wire format.
type frame struct {
	Type string          `json:"type"`
	Seq  *int64          `json:"seq,omitempty"`
	At   string          `json:"at"`
	Data json.RawMessage `json:"data"`
}

// push is an event that is ready to be sent, except for its number.
type push struct {
	frame
	once bool
}

// newPush returns the push of an event. An event that is too large is reduced to its hint.
func newPush(e Event, at time.Time) (push, error) {
	p := push{frame: frame{Type: e.Type, At: stamp(at)}, once: e.isEphemeral()}
	data, err := e.data()
	p.Data = data
	if errors.Is(err, errTooLarge) || err == nil && len(p.encode(math.MaxInt64)) > MaxFrame {
		p.Data, err = e.fallbackData()
	}
	if err != nil {
		return p, fmt.Errorf("realtime: %s: %w", e.Type, err)
	}
	return p, nil
}

// encode returns the frame of a push with its number. It cannot fail, because the data is
// marshalled already.
func (p push) encode(seq int64) []byte {
	f := p.frame
	if !p.once {
		f.Seq = &seq
	}
	text, _ := jcs.Marshal(f)
	return text
}

var errTooLarge = errors.New("larger than a frame")

// data returns the JSON of the event's data with its IDs; errTooLarge when it cannot fit into
// any frame.
func (e Event) data() (json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	if e.Data != nil {
		text, err := jcs.Marshal(e.Data)
		if err != nil {
			return nil, err
		}
		if len(text) > MaxFrame {
			return nil, errTooLarge
		}
		if err := json.Unmarshal(text, &members); err != nil || members == nil {
			return nil, fmt.Errorf("its data is no object: %w", err)
		}
	}
	for name, id := range e.ids() {
		text, err := jcs.Marshal(id)
		if err != nil {
			return nil, err
		}
		members[name] = text
	}
	return jcs.Marshal(members)
}

func (e Event) ids() fields {
	ids := fields{}
	if e.ChatID != "" {
		ids["conversationId"] = e.ChatID
	}
	if e.RunID != "" {
		ids["run_id"] = e.RunID
	}
	return ids
}

// fallbackData returns the data of an event that is too large: the IDs with which a client reads
// it.
func (e Event) fallbackData() (json.RawMessage, error) {
	ids := e.ids()
	maps.Copy(ids, e.hint)
	ids["large"] = true
	return jcs.Marshal(ids)
}

// reply returns a frame that answers a client, or has information about the connection.
func reply(kind string, seq *int64, at time.Time, data any) ([]byte, error) {
	raw, err := jcs.Marshal(data)
	if err != nil {
		return nil, err
	}
	return jcs.Marshal(frame{Type: kind, Seq: seq, At: stamp(at), Data: raw})
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
