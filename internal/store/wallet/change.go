package wallet

import (
	"context"
	"strconv"
	"strings"
	"time"

	"piloto/internal/ground/failpoint"
	"piloto/internal/models/credit"
	"piloto/internal/store/kv"
)

// change is one update of the row of a wallet: what it sets and removes, and the rules that must hold. A path is
// written with placeholders, because ids of sessions and turns are names of attributes here.
type change struct {
	sets, removes, rules []string
	names                map[string]string // placeholders by attribute
	values               kv.Item
}

// newChange returns a change of a wallet that is there, of the present format.
func newChange() *change {
	c := &change{names: map[string]string{}, values: kv.Item{}}
	c.need(c.at("v") + " = " + c.number(kv.Format))
	return c
}

// at returns the path of an attribute.
func (c *change) at(path ...string) string {
	list := make([]string, len(path))
	for i, attribute := range path {
		if c.names[attribute] == "" {
			c.names[attribute] = "#n" + strconv.Itoa(len(c.names))
		}
		list[i] = c.names[attribute]
	}
	return strings.Join(list, ".")
}

func (c *change) value(v kv.Value) string {
	name := ":v" + strconv.Itoa(len(c.values))
	c.values[name] = v
	return name
}

func (c *change) number(n int64) string { return c.value(kv.N(n)) }

func (c *change) set(path, to string)    { c.sets = append(c.sets, path+" = "+to) }
func (c *change) remove(path string)     { c.removes = append(c.removes, path) }
func (c *change) need(rule string)       { c.rules = append(c.rules, "("+rule+")") }
func (c *change) isEmpty() bool          { return len(c.sets)+len(c.removes) == 0 }
func (c *change) ifNone(p string) string { return "if_not_exists(" + p + ", " + c.number(0) + ")" }

// add adds to a number that exists.
func (c *change) add(n int64, path ...string) {
	if n != 0 {
		at := c.at(path...)
		c.set(at, at+" + "+c.number(n))
	}
}

// spend counts money in the day and the month of a time.
func (c *change) spend(at time.Time, micros int64) {
	if micros == 0 {
		return
	}
	for _, period := range []string{dayOf(at), monthOf(at)} {
		path := c.at("spent", period)
		c.set(path, c.ifNone(path)+" + "+c.number(micros))
	}
}

// limit needs room for money in the day and the month of a time.
func (c *change) limit(at time.Time, micros int64, l credit.Limits) {
	if micros == 0 {
		return
	}
	for _, p := range limited(at, l) {
		path := c.at("spent", p.name)
		c.need("attribute_not_exists(" + path + ") OR " + path + " <= " + c.number(p.most-micros))
	}
}

// period is a period with a limit.
type period struct {
	name string
	most int64
}

// limited returns the periods of a time that have a limit.
func limited(at time.Time, l credit.Limits) []period {
	var list []period
	for _, p := range []period{{dayOf(at), l.Day}, {monthOf(at), l.Month}} {
		if p.most > 0 {
			list = append(list, p)
		}
	}
	return list
}

// take takes tokens of a session that has them, and whose time is not over.
func (c *change) take(p credit.Part, at time.Time) {
	if p.Tokens == 0 {
		return
	}
	room, tokens := c.at("sessions", p.SessionID, "room"), c.number(int64(p.Tokens))
	c.set(room, room+" - "+tokens)
	c.need(room + " >= " + tokens)
	c.need(c.at("sessions", p.SessionID, "expires_at") + " > " + c.number(kv.Millis(at)))
	c.need("attribute_not_exists(" + c.at("sessions", p.SessionID, "closed") + ")")
}

// charge gives tokens of a session back and counts those that were used.
func (c *change) charge(id string, back, used int) {
	c.add(int64(back), "sessions", id, "room")
	c.add(int64(used), "sessions", id, "used")
}

// due has the sweep look at the wallet at a time, or before.
func (c *change) due(account string, at time.Time) {
	c.set("DuePK", c.value(kv.S(kv.DueList(dueWallets, account))))
	c.set("DueSK", "if_not_exists(DueSK, "+c.value(kv.S(kv.At(at, account)))+")")
}

// write returns the change as a write that a transaction can have.
func (c *change) write(account string, otherwise error) kv.Write {
	var clauses []string
	if len(c.sets) > 0 {
		clauses = append(clauses, "SET "+strings.Join(c.sets, ", "))
	}
	if len(c.removes) > 0 {
		clauses = append(clauses, "REMOVE "+strings.Join(c.removes, ", "))
	}
	w := kv.Update(walletKey(account), walletSK, strings.Join(clauses, " "), strings.Join(c.rules, " AND "), c.values, otherwise)
	for attribute, placeholder := range c.names {
		w = w.Named(placeholder, attribute)
	}
	return w
}

// try makes a change when its rules hold, and says whether it did. It returns the wallet after the change, or the
// one whose rules did not hold. An account without a wallet gets one first.
func (s *Store) try(ctx context.Context, account string, c *change) (row walletRow, done bool, err error) {
	w := c.write(account, nil)
	for {
		failpoint.Verb("", "(*Store)", "before")
		it, done, err := s.table.Try(ctx, w)
		failpoint.Verb("", "(*Store)", "after")
		if err != nil {
			return row, false, err
		}
		if it != nil {
			row, _, err = readRow(it)
			return row, done, err
		}
		if err := s.open(ctx, account); err != nil {
			return row, false, err
		}
	}
}
