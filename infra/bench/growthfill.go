package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"strings"

	"piloto/infra/local/process"
	"piloto/internal/ground/ids"
	"piloto/internal/store/kv"
)

// inFilledChat runs turns in the chats that fillChat filled.
func inFilledChat(s *system, of scenario) subject { return &filledChat{sys: s, of: of} }

type filledChat struct {
	sys  *system
	of   scenario
	chat string // of the next turn
}

// prepare chooses the next chat. None gets many more messages than it was filled with.
func (f *filledChat) prepare(int) error {
	list := f.sys.filled
	if len(list) == 0 {
		return errors.New("all chats have too many messages by now")
	}
	if f.chat = list[0].id; list[0].left == 1 {
		f.sys.filled = list[1:]
	}
	list[0].left--
	return nil
}

func (f *filledChat) operate() error {
	_, err := f.sys.say(f.chat, f.of)
	return err
}

// messagesFilled is how many messages fillChat writes at least.
const messagesFilled = 3000

// fillChat makes chats of n messages: the longer they are, the fewer. Each may have a tenth more in the end.
func fillChat(s *system, n int) error {
	if err := s.model.script(text, s.mcp); err != nil {
		return err
	}
	for range max(1, messagesFilled/n) {
		id, err := s.newChat()
		if err != nil {
			return err
		}
		for range n / 2 {
			if _, err := s.say(id, text); err != nil {
				return err
			}
		}
		s.filled = append(s.filled, &chat{id, max(1, n/20)})
	}
	return nil
}

func inNewChat(s *system, of scenario) subject { return newTurns(s, of) }

func inRun(s *system, of scenario) subject { return newRuns(s, of) }

func inList(s *system, _ scenario) subject { return lists{s} }

// lists lists the first chats.
type lists struct{ sys *system }

func (l lists) prepare(int) error { return nil }

func (l lists) operate() error {
	_, n, err := l.sys.page("", 10)
	if err == nil && n != 10 {
		err = fmt.Errorf("a list of 10 has %d chats", n)
	}
	return err
}

// page reads a page of the list of chats.
func (s *system) page(cursor string, limit int) (next string, n int, err error) {
	var page struct {
		Chats  []struct{} `json:"chats"`
		Cursor string     `json:"cursor"`
	}
	err = s.caller.get(fmt.Sprintf("%s/api/chats?limit=%d&cursor=%s", s.origin, limit, url.QueryEscape(cursor)), &page)
	return page.Cursor, len(page.Chats), err
}

// fillRuns has n runs of five steps confirmed and done, each in a chat of its own.
func fillRuns(s *system, n int) error {
	if err := s.model.script(ranFive, s.mcp); err != nil {
		return err
	}
	r := newRuns(s, ranFive)
	return errors.Join(r.prepare(n), runParallel(mostClients, n, r.operate))
}

// fillChats makes n chats of one turn, and lists all of them.
func fillChats(s *system, n int) error {
	if err := s.model.script(text, s.mcp); err != nil {
		return err
	}
	err := runParallel(mostClients, n, func() error {
		id, err := s.newChat()
		if err == nil {
			_, err = s.say(id, text)
		}
		return err
	})
	if err != nil {
		return err
	}
	listed := 0
	for cursor := ""; ; {
		next, read, err := s.page(cursor, 100)
		if err != nil {
			return err
		}
		if listed += read; next == "" {
			break
		}
		cursor = next
	}
	if listed != n {
		return fmt.Errorf("%d of %d chats are listed", listed, n)
	}
	return nil
}

// describeMore gives the service a document of n operations.
func describeMore(s *system, n int) { s.echo.document = documentOf(n) }

// documentOf returns the document of the service with more operations, n together.
func documentOf(n int) string {
	nouns := []string{"order", "invoice", "customer", "parcel", "pallet", "dock", "carrier", "return", "stock", "label"}
	var b strings.Builder
	rest, _ := strings.CutSuffix(document, "}}")
	b.WriteString(rest)
	for i := range n - 1 {
		noun, other := nouns[i%len(nouns)], nouns[i/len(nouns)%len(nouns)]
		method := "get"
		if i%3 == 0 {
			method = "post"
		}
		fmt.Fprintf(&b, `,"/warehouse%d/%ss/{id}/%s":{"%s":{"operationId":"read%s%d","summary":"Read the %s of the %s %d",`+
			`"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"integer"}},{"name":"since","in":"query","schema":{"type":"string","format":"date"}}],`+
			`"responses":{"200":{"description":"it"}}}}`, i, noun, other, method, noun, i, other, noun, i)
	}
	b.WriteString("}}")
	return b.String()
}

// answerMore makes every answer of the service n KB long.
func answerMore(s *system, n int) { s.echo.extra = extraOf(n << 10) }

// extraOf returns about n bytes of a JSON list of rows, as services answer them.
func extraOf(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("[")
	for i := 0; b.Len() < n-200; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"row":%d,"sku":"%08x","price":%d.%02d,"warehouse":"Zaragoza","free":%t}`, i, r.Uint32(), r.IntN(500), r.IntN(100), r.IntN(2) == 0)
	}
	b.WriteString("]")
	return b.String()
}

// fillFolder writes n MB of messages of other chats into the data file of a folder, through the stores.
func fillFolder(ctx context.Context, folder, template string, n int) error {
	o, s := deployment(folder, template, "http://127.0.0.1:1/v1", process.Unlimited())
	o.Log = io.Discard
	p, err := process.Open(ctx, o, s, "http://127.0.0.1:1")
	if err != nil {
		return err
	}
	words := extraOf(chunk)
	source := ids.NewSource(nil)
	err = runParallel(4, n*(1<<20)/(rowsOfChat*chunk), func() error {
		now := p.Clock()
		chat := source.New(now)
		rows := []kv.Item{{
			"PK": kv.S(kv.Account(account)), "SK": kv.S("CHAT#" + chat), "chat_id": kv.S(chat), "title": kv.S("Pedidos"),
			"GSI1PK": kv.S(kv.Account(account) + "#CHATS"), "GSI1SK": kv.S(kv.At(now, chat)), "created_at": kv.N(kv.Millis(now)), "updated_at": kv.N(kv.Millis(now)),
		}}
		for i := range rowsOfChat {
			id := source.New(now)
			rows = append(rows, kv.Item{
				"PK": kv.S(kv.Chat(account, chat)), "SK": kv.S("M#" + id), "id": kv.S(id), "role": kv.S("user"), "kind": kv.S("text"),
				"content": kv.S(words[i%16:]), "at": kv.N(kv.Millis(now)),
			})
		}
		return p.Stores.Table.PutAll(ctx, rows)
	})
	if err != nil {
		return err
	}
	return p.Close()
}

// How fillFolder writes.
const (
	account    = "default"
	rowsOfChat = 24
	chunk      = 4 << 10 // bytes of a message
)
