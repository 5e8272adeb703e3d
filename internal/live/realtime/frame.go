package realtime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"time"
)

// MaxFrame bounds what is pushed, in bytes: API Gateway's frames hold 32 KB, and
// what a proxy adds to one must fit as well.
const MaxFrame = 28 << 10

// frame is what travels.
type frame struct {
	Type string          `json:"type"`
	Seq  *int64          `json:"seq,omitempty"`
	At   string          `json:"at"`
	Data json.RawMessage `json:"data"`
}

// push is an event that is ready to be sent, but for its number.
type push struct {
	frame
	once bool
}

// pushOf returns the push of an event: its hint, when all of it is too much.
func pushOf(e Event, at time.Time) (push, error) {
	p := push{frame: frame{Type: e.Type, At: stamp(at)}, once: e.ephemeral()}
	data, err := e.data()
	p.Data = data
	if errors.Is(err, errLarge) || err == nil && len(p.numbered(math.MaxInt64)) > MaxFrame {
		p.Data, err = e.large()
	}
	if err != nil {
		return p, fmt.Errorf("realtime: %s: %w", e.Type, err)
	}
	return p, nil
}

// numbered is the text of a push with its number. (What it is made of has been
// marshalled, and so can be.)
func (p push) numbered(seq int64) []byte {
	f := p.frame
	if !p.once {
		f.Seq = &seq
	}
	text, _ := marshal(f)
	return text
}

var errLarge = errors.New("larger than a frame")

// data is the JSON of what the event shows, with its ids; errLarge when it cannot
// fit whatever is around it.
func (e Event) data() (json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	if e.Data != nil {
		text, err := marshal(e.Data)
		if err != nil {
			return nil, err
		}
		if len(text) > MaxFrame {
			return nil, errLarge
		}
		if err := json.Unmarshal(text, &members); err != nil || members == nil {
			return nil, fmt.Errorf("its data is no object: %w", err)
		}
	}
	for name, id := range e.ids() {
		text, err := marshal(id)
		if err != nil {
			return nil, err
		}
		members[name] = text
	}
	return marshal(members)
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

// large is what stands for data that does not fit: the ids by which to ask.
func (e Event) large() (json.RawMessage, error) {
	ids := e.ids()
	maps.Copy(ids, e.hint)
	ids["large"] = true
	return marshal(ids)
}

// reply is a frame that answers a client, or tells it of itself.
func reply(kind string, seq *int64, at time.Time, data any) ([]byte, error) {
	raw, err := marshal(data)
	if err != nil {
		return nil, err
	}
	return marshal(frame{Type: kind, Seq: seq, At: stamp(at), Data: raw})
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// marshal is json.Marshal, but for the signs of HTML: they are escaped for no
// reader, and would cost five bytes more each.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
