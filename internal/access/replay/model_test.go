package replay_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"piloto/infra/local/fixture"
	"piloto/internal/access/replay"
	"piloto/internal/ground/ids"
)

// state is the model's state of one key.
type state struct {
	fingerprint string
	ticket      replay.Ticket
	until       int64 // end of the lease, in milliseconds; 0: no holder
	expires     int64
	done        bool
	answer      string
}

// outcomes are the possible outcomes of a served request.
var outcomes = []string{"answered", "failed", "died"}

// TestModel: requests of two accounts under few keys are answered, fail, or die while they are
// served, with pauses of any length in between.
func TestModel(t *testing.T) {
	table := fixture.Table(t)
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		alive, dead := newSetup(table.Access), newSetup(dyingStore{table.Access})
		accounts := []string{fmt.Sprint("a", round), fmt.Sprint("b", round)}
		known := map[[2]string]state{}
		steps := rapid.IntRange(1, 25).Draw(t, "steps")
		for range steps {
			pause := rapid.SampledFrom([]time.Duration{0, time.Millisecond, 14 * time.Second, 15 * time.Second, 24*time.Hour - time.Millisecond, 24 * time.Hour}).Draw(t, "pause")
			alive.pass(pause)
			dead.pass(pause)
			now := alive.at.Load()
			account, value := ids.Account(rapid.SampledFrom(accounts).Draw(t, "account")), rapid.SampledFrom([]string{"k", "l"}).Draw(t, "key")
			fingerprint := rapid.SampledFrom([]string{"f", "f", "g"}).Draw(t, "fingerprint")
			outcome := rapid.SampledFrom(outcomes).Draw(t, "outcome")
			text := rapid.StringN(0, 8, -1).Draw(t, "text")

			id := [2]string{string(account), value}
			was, ok := known[id]
			ok = ok && now < was.expires
			free := ok && !was.done && was.until == 0
			d := alive
			if outcome == "died" {
				d = dead
			}
			var ticket *replay.Ticket
			got, replayed, err := d.Do(ctx, account, replay.Key{Value: value}, fingerprint, func(_ context.Context, given replay.Ticket) ([]byte, error) {
				ticket = &given
				if outcome == "failed" {
					return nil, errors.New("failed")
				}
				return []byte(text), nil
			})
			switch {
			case ok && !free && was.fingerprint != fingerprint:
				if ticket != nil || !errors.Is(err, replay.ErrReused) {
					t.Fatalf("another request: %v %v", ticket, err)
				}
				continue
			case ok && was.done:
				if ticket != nil || err != nil || !replayed || string(got) != was.answer {
					t.Fatalf("done: %v %q %v %v, want %q", ticket, got, replayed, err, was.answer)
				}
				continue
			case ok && now < was.until:
				if ticket != nil || !errors.Is(err, replay.ErrBusy) {
					t.Fatalf("held: %v %v", ticket, err)
				}
				continue
			case ticket == nil:
				t.Fatalf("it was not served: %+v %v", was, err)
			}
			if again := ok && was.fingerprint == fingerprint; again && *ticket != was.ticket || !again && ticket.ID == was.ticket.ID {
				t.Fatalf("ticket %v, before %v, the same request %v", *ticket, was.ticket, again)
			}
			next := state{fingerprint: fingerprint, ticket: *ticket, expires: now + (24 * time.Hour).Milliseconds()}
			switch outcome {
			case "answered":
				next.done, next.answer = true, text
				if err != nil || replayed || string(got) != text {
					t.Fatalf("answered: %q %v %v", got, replayed, err)
				}
			case "died":
				next.until = now + (15 * time.Second).Milliseconds()
				if !errors.Is(err, replay.ErrAnswerLost) {
					t.Fatalf("died: %v", err)
				}
			default:
				if err == nil {
					t.Fatal("failed without an error")
				}
			}
			known[id] = next
		}
	})
}
