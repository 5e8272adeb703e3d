// Package dynamo keeps everything Piloto stores in one DynamoDB table.
//
// Every key begins with the account, so that no query can leave it. The
// exceptions are how an account is found, by a token, by the id of a socket or of a
// webhook; how often somebody may ask, which may be nobody's account; and the public
// halves of the keys that sign receipts, which are the deployment's.
// Conditional writes are domain verbs: what was read is the condition, and a
// transaction that fails one names which.
//
//	PK                  SK                  item
//	A#acct              CHAT#id             chat                listed: A#acct#CHATS  by last change
//	A#acct              PROJECT#id          project
//	A#acct              SERVER#id           server
//	A#acct#KEYS         SERVER#id           a server's key
//	A#acct#S#id#rev     IDX#nnnn            a piece of the allowlist of one revision
//	A#acct#S#id#rev     OP#hash             one operation of it
//	A#acct#C#id         M#seq               message
//	A#acct#C#id         ASKED#message       that an agent is, or was, asked for it
//	A#acct#C#id         ANSWER#message      until when somebody is answering it  due: ANSWERING
//	A#acct#C#id         SIGHT#viewer        the plan that somebody was shown last
//	A#acct#C#id         STOP                when somebody wanted its answer to end
//	A#acct#R#id         RUN                 run                 due: DUE  by the time it is due, UNPLACED  when it ended
//	A#acct#R#id         STEP#id             what became of a step
//	A#acct#R#id         EVENT#nnnnnn        event
//	A#acct#R#id         REV#nnnnnn          a plan as it stood
//	A#acct#R#id         RESULT#id#a#sum#nn  a piece of the result of an effect's attempt
//	A#acct              RULES               what the account lets plans do
//	A#acct#CHAIN        LINK#nnnnnnnnnnnn   a place in the chain of receipts  due: UNSIGNED
//	A#acct#CHAIN        TIP                 the last of them
//	SIGNING             KEY#id              the public half of a key that signed receipts
//	A#acct#WS           CONN#id             connection of a client
//	WS#id               CONN                whose connection it is
//	A#acct#AI           ASSISTANT#project   assistant, and the other settings of AI: ENTITLEMENT, TERMS, PROVIDER#name, HEALTH#name
//	A#acct#W            WALLET              balance             due: AUDIT  by the time its ledger is added up
//	A#acct#W            L#id                ledger entry        listed: A#acct#LEDGER  by time
//	A#acct#W            K#hash              which entry an idempotency key moved
//	A#acct#W            S#until#id          credit session
//	A#acct#W            H#id                hold                due: HOLD  by its deadline
//	A#acct#W            B#D#day, B#M#month  what was spent and is held
//	A#acct#W            U#id                what a turn used
//	A#acct              AGENT#name          which server has an agent's name
//	A#acct#AGENTKEYS    SERVER#id           an agent's key
//	A#acct#MEM#hash     CO#company          what a session remembers  listed: A#acct#MEMORIES  by time
//	A#acct#ROUTER       SET#company         what an account, or a company, sets of the router
//	A#acct#ROUTER       BUSINESS#company#h  what is known of a company, by where it was asked
//	A#acct#Q#hash       REPLAY              what a request with a key was answered
//	A#acct#BREAKERS     AGENT#id            an agent's breaker
//	A#acct#TALLY        DAY#date            what turns of a day came to
//	A#acct#WEBHOOKS     WEBHOOK#id          webhook
//	WEBHOOK#id          WEBHOOK             the same, found by its id
//	TOKEN#hash          TOKEN               token
//	RATE#name           RATE                how much of a quota is left
package dynamo

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"piloto/internal/ground/failpoint"
	"piloto/internal/ground/fault"
	"piloto/internal/live/realtime"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
)

// The indexes of the table, as template.yaml names them.
const (
	listed = "listed" // GSI1PK, GSI1SK
	due    = "due"    // DuePK, DueSK
	dueKey = "DUE"
)

// ErrCursor is a cursor that is not one of ours, or of another query.
var ErrCursor = fault.New(fault.Malformed, "cursor.invalid")

// Table is the store.
type Table struct {
	client *dynamodb.Client
	name   string
	memo   memo

	notifier realtime.Notifier
}

// New returns the store in the named table. It tells nobody what it stores.
func New(config aws.Config, name string) *Table {
	return &Table{client: dynamodb.NewFromConfig(config, knowUnwritable), name: name, notifier: realtime.Nobody}
}

type (
	item  = map[string]types.AttributeValue
	value = types.AttributeValue
)

func str(s string) value { return &types.AttributeValueMemberS{Value: s} }

func num(n int64) value { return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)} }

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func key(pk, sk string) item { return item{"PK": str(pk), "SK": str(sk)} }

func accountKey(account string) string { return "A#" + account }

// keysKey is the partition of the keys of servers: those of agents are another's
// to send than those of tools.
func keysKey(account string, s tool.Server) string {
	if s.IsAgent() {
		return "A#" + account + "#AGENTKEYS"
	}
	return "A#" + account + "#KEYS"
}

func chatKey(account, chat string) string     { return "A#" + account + "#C#" + chat }
func runKey(account, run string) string       { return "A#" + account + "#R#" + run }
func revKey(account, srv, rev string) string  { return "A#" + account + "#S#" + srv + "#" + rev }
func chatsIndex(account string) string        { return "A#" + account + "#CHATS" }
func eventKey(seq int) string                 { return "EVENT#" + pad(int64(seq), 6) }
func dueAt(t time.Time, run string) string    { return pad(t.UnixMilli(), 13) + "#" + run }
func changedAt(t time.Time, id string) string { return pad(t.UnixMilli(), 13) + "#" + id }

func pad(n int64, width int) string {
	s := strconv.FormatInt(n, 10)
	for len(s) < width {
		s = "0" + s
	}
	return s
}

func encode(row any) (item, error) { return attributevalue.MarshalMap(row) }

// get reads one item, as the last write left it, into row; missing is returned
// when there is none.
func (t *Table) get(ctx context.Context, pk, sk string, row any, missing error) error {
	out, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &t.name, Key: key(pk, sk), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return err
	}
	if len(out.Item) == 0 {
		return missing
	}
	return attributevalue.UnmarshalMap(out.Item, row)
}

// getAll reads items of one partition as the last write left them, in the order of
// their sort keys as they are named; nil stands for one that is not there.
func (t *Table) getAll(ctx context.Context, pk string, sks ...string) ([]item, error) {
	rows := make([]item, len(sks))
	var keys []item
	for _, sk := range sks {
		keys = append(keys, key(pk, sk))
	}
	for pause := 20 * time.Millisecond; len(keys) > 0; pause *= 2 {
		out, err := t.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{t.name: {Keys: keys, ConsistentRead: aws.Bool(true)}},
		})
		if err != nil {
			return nil, err
		}
		for _, it := range out.Responses[t.name] {
			for i, sk := range sks {
				if found, ok := it["SK"].(*types.AttributeValueMemberS); ok && found.Value == sk {
					rows[i] = it
				}
			}
		}
		if keys = out.UnprocessedKeys[t.name].Keys; len(keys) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
	return rows, nil
}

// write is one part of a transaction, and what its failed condition means.
type write struct {
	types.TransactWriteItem
	otherwise error
}

func (t *Table) put(row any, condition string, otherwise error) (write, error) {
	it, err := encode(row)
	if err != nil {
		return write{}, err
	}
	p := &types.Put{TableName: &t.name, Item: it}
	if condition != "" {
		p.ConditionExpression = &condition
	}
	return write{types.TransactWriteItem{Put: p}, otherwise}, nil
}

func (t *Table) update(pk, sk, set, condition string, values item, otherwise error) write {
	u := &types.Update{TableName: &t.name, Key: key(pk, sk), UpdateExpression: &set, ExpressionAttributeValues: values}
	if condition != "" {
		u.ConditionExpression = &condition
	}
	return write{types.TransactWriteItem{Update: u}, otherwise}
}

func (t *Table) remove(pk, sk, condition string, otherwise error) write {
	d := &types.Delete{TableName: &t.name, Key: key(pk, sk)}
	if condition != "" {
		d.ConditionExpression = &condition
	}
	return write{types.TransactWriteItem{Delete: d}, otherwise}
}

// commit writes all or nothing. The error is what the first failed condition
// means; a conflict with another transaction means that something moved.
func (t *Table) commit(ctx context.Context, writes ...write) error {
	in := &dynamodb.TransactWriteItemsInput{}
	for _, w := range writes {
		in.TransactItems = append(in.TransactItems, w.TransactWriteItem)
	}
	failpoint.Verb("dynamo", "dynamo.(*Table)", "before")
	_, err := t.client.TransactWriteItems(ctx, in)
	failpoint.Verb("dynamo", "dynamo.(*Table)", "after")
	var cancelled *types.TransactionCanceledException
	var conflict *types.TransactionConflictException
	switch {
	case err == nil:
		return nil
	case errors.As(err, &conflict):
		return plan.ErrMoved
	case !errors.As(err, &cancelled):
		return err
	}
	moved := false
	for i, reason := range cancelled.CancellationReasons {
		switch aws.ToString(reason.Code) {
		case "ConditionalCheckFailed":
			if i < len(writes) && writes[i].otherwise != nil {
				return writes[i].otherwise
			}
		case "TransactionConflict":
			moved = true
		}
	}
	if moved {
		return plan.ErrMoved
	}
	return err
}

// removeAll deletes items in batches, until none is left unprocessed.
func (t *Table) removeAll(ctx context.Context, items []item) error {
	var requests []types.WriteRequest
	for _, it := range items {
		requests = append(requests, types.WriteRequest{
			DeleteRequest: &types.DeleteRequest{Key: item{"PK": it["PK"], "SK": it["SK"]}},
		})
	}
	return t.batch(ctx, requests)
}

const batchSize = 25

func (t *Table) batch(ctx context.Context, requests []types.WriteRequest) error {
	for pause := 50 * time.Millisecond; len(requests) > 0; {
		n := min(batchSize, len(requests))
		failpoint.Verb("dynamo", "dynamo.(*Table)", "before")
		out, err := t.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{t.name: requests[:n]},
		})
		failpoint.Verb("dynamo", "dynamo.(*Table)", "after")
		if err != nil {
			return err
		}
		left := out.UnprocessedItems[t.name]
		requests = append(left, requests[n:]...)
		if len(left) > 0 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(pause):
			}
			pause = min(2*pause, 2*time.Second)
		}
	}
	return nil
}
