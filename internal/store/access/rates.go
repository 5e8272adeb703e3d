package access

import (
	"context"
	"errors"
	"time"

	"piloto/internal/access/rate"
	"piloto/internal/store/kv"
)

// A quota is one item with one number: the time at which it is whole again, in microseconds. A
// change costs one write unit. The item is deleted an hour after that time.
const rateSK = "RATE"

func rateKey(name string) kv.Key { return kv.Key{PK: "RATE#" + name, SK: rateSK} }

const rateKept = time.Hour

// Charge implements rate.Store. It takes one conditional write when known is right, also for a
// refusal, and two when it is wrong.
func (s *Store) Charge(ctx context.Context, name string, at time.Time, q rate.Quota, known time.Time) (time.Time, bool, error) {
	now, part := at.UnixMicro(), q.Part.Microseconds()
	charge := kv.Update(rateKey(name)).Set("ttl", at.Add(rate.Absurd+rateKept).Unix())
	// All of it is there; or part of it is taken, and there is room.
	idle := charge.Set("whole", now+part).If(kv.Any(kv.Missing("PK"), kv.AtMost("whole", now), kv.Greater("whole", now+rate.Absurd.Microseconds())))
	busy := charge.Add("whole", part).If(kv.Greater("whole", now), kv.AtMost("whole", now+(q.Room-q.Part).Microseconds()))
	taken := known
	for range mostCharges {
		change := idle
		if taken.After(at) && taken.Sub(at) <= rate.Absurd {
			change = busy
		}
		there, ok, err := s.charge(ctx, change)
		if err != nil || ok {
			return there, ok, err
		}
		if _, room := q.Take(there, at); !room {
			return there, false, nil
		}
		taken = there
	}
	return taken, false, errRateMoves
}

// At one moment a quota only goes from idle to busy to full. So there are at most three tries:
// one wrong guess, and two that came too late.
const mostCharges = 4

var errRateMoves = errors.New("store: a quota is never as it was just seen")

// charge changes a quota if the conditions hold, and returns the stored time after that.
func (s *Store) charge(ctx context.Context, w kv.Write) (whole time.Time, ok bool, err error) {
	row, ok, err := s.table.Try(ctx, w)
	if err != nil {
		return time.Time{}, false, err
	}
	micros, there, err := kv.Int(row, "whole")
	if err != nil || !there {
		return time.Time{}, ok && err == nil, err
	}
	return time.UnixMicro(micros).UTC(), ok, nil
}

var _ rate.Store = (*Store)(nil)
