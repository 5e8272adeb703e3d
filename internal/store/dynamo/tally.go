package dynamo

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/internal/chats/usage"
	"piloto/internal/ground/failpoint"
)

// A day's counters are attributes of one item, so that counting a turn is one
// update that adds to them. The names of its agents are a set beside them: the
// condition compares its size, which bounds how large the item can become.
//
// Days have no time to live: a total of an account only grows.
const (
	dayPrefix = "DAY#"
	agentsSet = "agents"
)

func tallyKey(account string) string { return "A#" + account + "#TALLY" }

// CountTurn adds a turn's counters to the account's row of the UTC day of at. A
// turn whose agent would be one name too many is counted by a second update, under
// the name of all others.
func (t *Table) CountTurn(ctx context.Context, account string, at time.Time, turn usage.Turn) error {
	if turn.Agent == "" || turn.Agent == usage.Other {
		return t.tally(ctx, account, at, turn)
	}
	err := t.tally(ctx, account, at, turn)
	var full *types.ConditionalCheckFailedException
	if errors.As(err, &full) {
		turn.Agent = usage.Other
		return t.tally(ctx, account, at, turn)
	}
	return err
}

func (t *Table) tally(ctx context.Context, account string, at time.Time, turn usage.Turn) error {
	u := &dynamodb.UpdateItemInput{
		TableName: &t.name, Key: key(tallyKey(account), dayPrefix+usage.DateOf(at)),
		ExpressionAttributeNames: map[string]string{}, ExpressionAttributeValues: item{},
	}
	var adds []string
	add := func(name string, v value) {
		n := strconv.Itoa(len(adds))
		u.ExpressionAttributeNames["#n"+n], u.ExpressionAttributeValues[":v"+n] = name, v
		adds = append(adds, "#n"+n+" :v"+n)
	}
	for name, by := range turn.Counters() {
		add(name, num(by))
	}
	set := ""
	if turn.Agent != "" {
		for name, by := range turn.AgentCounters(turn.Agent) {
			add(name, num(by))
		}
	}
	if turn.Agent != "" && turn.Agent != usage.Other {
		add(agentsSet, &types.AttributeValueMemberSS{Value: []string{turn.Agent}})
		u.ExpressionAttributeNames["#agents"], u.ExpressionAttributeNames["#since"] = agentsSet, usage.SinceCounter(turn.Agent)
		u.ExpressionAttributeValues[":agent"], u.ExpressionAttributeValues[":most"] = str(turn.Agent), num(usage.MostAgents)
		u.ExpressionAttributeValues[":at"] = num(millis(at))
		set = "SET #since = if_not_exists(#since, :at) "
		u.ConditionExpression = aws.String("attribute_not_exists(#agents) OR contains(#agents, :agent) OR size(#agents) < :most")
	}
	u.UpdateExpression = aws.String(set + "ADD " + strings.Join(adds, ", "))
	failpoint.Verb("dynamo", "dynamo.(*Table)", "before")
	_, err := t.client.UpdateItem(ctx, u)
	failpoint.Verb("dynamo", "dynamo.(*Table)", "after")
	return err
}

// Days returns the account's days from a date on, in order.
func (t *Table) Days(ctx context.Context, account, from string) ([]usage.Day, error) {
	s := kindsIn(tallyKey(account), dayPrefix)
	s.from = dayPrefix + from
	items, err := t.read(ctx, s, 0)
	if err != nil {
		return nil, err
	}
	days := make([]usage.Day, 0, len(items))
	for _, it := range items {
		sk, _ := it["SK"].(*types.AttributeValueMemberS)
		d := usage.Day{Date: strings.TrimPrefix(sk.Value, dayPrefix), Counters: map[string]int64{}}
		for name, v := range it {
			if n, ok := v.(*types.AttributeValueMemberN); ok {
				if d.Counters[name], err = strconv.ParseInt(n.Value, 10, 64); err != nil {
					return nil, err
				}
			}
		}
		days = append(days, d)
	}
	return days, nil
}
