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

func rateKey(name string) string { return "RATE#" + name }

const rateKept = time.Hour

// Charge implements rate.Store. It takes one conditional write when known is right, also for a
// refusal, and two when it is wrong.
func (s *Store) Charge(ctx context.Context, name string, at time.Time, q rate.Quota, known time.Time) (time.Time, bool, error) {
	now, part := at.UnixMicro(), q.Part.Microseconds()
	ttl := kv.N(at.Add(rate.Absurd + rateKept).Unix())
	idle := charge{ // all of it is there
		"SET whole = :next, #ttl = :ttl", "attribute_not_exists(PK) OR whole <= :now OR whole > :absurd",
		kv.Item{":next": kv.N(now + part), ":ttl": ttl, ":now": kv.N(now), ":absurd": kv.N(now + rate.Absurd.Microseconds())},
	}
	busy := charge{ // part of it is taken, and there is room
		"SET whole = whole + :part, #ttl = :ttl", "whole > :now AND whole <= :last",
		kv.Item{":part": kv.N(part), ":ttl": ttl, ":now": kv.N(now), ":last": kv.N(now + (q.Room - q.Part).Microseconds())},
	}
	taken := known
	for range mostCharges {
		change := idle
		if taken.After(at) && taken.Sub(at) <= rate.Absurd {
			change = busy
		}
		there, ok, err := s.charge(ctx, rateKey(name), change)
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

// charge is a conditional change of a quota.
type charge struct {
	change, condition string
	values            kv.Item
}

// charge changes a quota if the condition of c holds, and returns the stored time after that.
func (s *Store) charge(ctx context.Context, pk string, c charge) (whole time.Time, ok bool, err error) {
	row, ok, err := s.table.Try(ctx, kv.Update(pk, rateSK, c.change, c.condition, c.values, nil).Named("#ttl", "ttl"))
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
