package dynamodb

import (
	"compress/gzip"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"localaws/disk"
	"net/http"
	"strconv"
	"strings"
)

// maxBody is the greatest size of a request, in bytes.
const maxBody = 16 << 20

// maxDrained is the number of bytes of a too large request that are read and discarded.
const maxDrained = 4 * maxBody

const (
	apiVersion  = "DynamoDB_20120810"
	streamsAPI  = "DynamoDBStreams_20120810"
	contentType = "application/x-amz-json-1.0"
)

// answer is the answer to an operation that clients of this process call too.
type answer interface{ json() []byte }

// onWire returns an operation as the wire protocol has it.
func onWire[A answer](operation func(*Engine, request) (A, error)) func(*Engine, request) ([]byte, error) {
	return func(e *Engine, r request) ([]byte, error) {
		a, err := operation(e, r)
		if err != nil {
			return nil, err
		}
		return a.json(), nil
	}
}

// operations maps the name in X-Amz-Target to the operation.
var operations = map[string]func(*Engine, request) ([]byte, error){
	"CreateTable":        (*Engine).createTable,
	"DescribeTable":      (*Engine).describeTable,
	"UpdateTable":        (*Engine).updateTable,
	"DeleteTable":        (*Engine).deleteTable,
	"ListTables":         (*Engine).listTables,
	"PutItem":            onWire((*Engine).putItem),
	"GetItem":            onWire((*Engine).getItem),
	"UpdateItem":         onWire((*Engine).updateItem),
	"DeleteItem":         onWire((*Engine).deleteItem),
	"Query":              onWire((*Engine).query),
	"Scan":               onWire((*Engine).scan),
	"BatchGetItem":       onWire((*Engine).batchGetItem),
	"BatchWriteItem":     onWire((*Engine).batchWriteItem),
	"TransactGetItems":   (*Engine).transactGetItems,
	"TransactWriteItems": onWire((*Engine).transactWriteItems),
	"UpdateTimeToLive":   (*Engine).updateTimeToLive,
	"DescribeTimeToLive": (*Engine).describeTimeToLive,

	"TagResource":               (*Engine).tagResource,
	"UntagResource":             (*Engine).untagResource,
	"ListTagsOfResource":        (*Engine).listTagsOfResource,
	"DescribeLimits":            (*Engine).describeLimits,
	"DescribeEndpoints":         (*Engine).describeEndpoints,
	"DescribeContinuousBackups": (*Engine).describeContinuousBackups,
}

// unserved maps operations that this engine does not have to their feature.
var unserved = map[string]string{
	"ExecuteStatement": "PartiQL", "BatchExecuteStatement": "PartiQL", "ExecuteTransaction": "PartiQL",
	"CreateBackup": "backups", "DeleteBackup": "backups", "DescribeBackup": "backups", "ListBackups": "backups",
	"RestoreTableFromBackup": "backups", "RestoreTableToPointInTime": "backups",
	"UpdateContinuousBackups":  "backups",
	"ExportTableToPointInTime": "backups", "DescribeExport": "backups", "ListExports": "backups", "ImportTable": "imports",
	"CreateGlobalTable": "global tables", "UpdateGlobalTable": "global tables", "DescribeGlobalTable": "global tables",
	"ListGlobalTables": "global tables", "UpdateGlobalTableSettings": "global tables", "DescribeGlobalTableSettings": "global tables",
	"EnableKinesisStreamingDestination": "streams", "DisableKinesisStreamingDestination": "streams",
	"DescribeKinesisStreamingDestination": "streams", "UpdateKinesisStreamingDestination": "streams",
}

// unwritableHeader is in every response, also to a read, while the disk accepts no writes, so that
// clients that only read see it too.
const unwritableHeader = "X-Localaws-Unwritable"

// ServeHTTP serves one request of the DynamoDB JSON 1.0 protocol. It does not verify signatures. A
// write that the disk refuses is an InternalServerError with the status 507, which SDKs do not
// retry as they do after 500 and 503.
func (e *Engine) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := e.answer(req)
	status := http.StatusOK
	if err != nil {
		var f *failure
		switch {
		case errors.As(err, &f):
		case errors.Is(err, disk.ErrUnwritable), errors.Is(err, disk.ErrFailed):
			f = &failure{status: http.StatusInsufficientStorage, kind: serviceNamespace + "InternalServerError", message: err.Error()}
		default:
			f = &failure{status: http.StatusInternalServerError, kind: serviceNamespace + "InternalServerError", message: err.Error()}
		}
		status = f.status
		body = appendFailure(nil, f)
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if e.store.Unwritable() != nil {
		h.Set(unwritableHeader, "true")
	}
	h.Set("X-Amzn-Requestid", rand.Text()+rand.Text())
	h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func (e *Engine) answer(req *http.Request) ([]byte, error) {
	if req.Method == http.MethodGet { // the health check of clients
		return []byte("healthy: dynamodb.us-east-1.amazonaws.com "), nil
	}
	if req.Method != http.MethodPost {
		return nil, clientError(coralNamespace+"UnknownOperationException", "This service takes POST requests only")
	}
	raw, err := readBody(req)
	if err != nil {
		return nil, err
	}
	if raw, err = decodeBody(raw, req.Header.Get("Content-Encoding")); err != nil {
		return nil, err
	}
	api, name, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	if api == streamsAPI {
		return nil, invalid("This engine does not support streams: %s", name)
	}
	if feature, known := unserved[name]; known && api == apiVersion {
		return nil, invalid("This engine does not support %s: %s", feature, name)
	}
	operation, known := operations[name]
	if !known || api != apiVersion {
		return nil, clientError(coralNamespace+"UnknownOperationException", "")
	}
	parsed, err := parseJSON(raw)
	if err != nil {
		return nil, err
	}
	return operation(e, newRequest(parsed))
}

var tooLarge = &failure{status: http.StatusRequestEntityTooLarge, kind: coralNamespace + "RequestEntityTooLargeException", message: "Request is larger than 16 MB"}

// decodeBody reverses a body's Content-Encoding: gzip or none. A body that cannot be decoded is an
// error of the server, as on the service.
func decodeBody(raw, encoding string) (string, error) {
	switch encoding {
	case "", "identity":
		return raw, nil
	case "gzip":
	default:
		return "", fmt.Errorf("content encoding %q is not served", encoding)
	}
	z, err := gzip.NewReader(strings.NewReader(raw))
	if err != nil {
		return "", fmt.Errorf("gzip: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxBody+1))
	switch {
	case len(plain) > maxBody:
		return "", tooLarge
	case err != nil:
		return "", fmt.Errorf("gzip: %w", err)
	}
	return string(plain), nil
}

func readBody(req *http.Request) (string, error) {
	if req.ContentLength > maxBody {
		_, _ = io.CopyN(io.Discard, req.Body, maxDrained) // clients read the response after they have sent the body
		return "", tooLarge
	}
	if n := req.ContentLength; n >= 0 { // a body of known length is read with one read
		raw := make([]byte, n)
		if _, err := io.ReadFull(req.Body, raw); err != nil {
			return "", unreadable("Body cannot be read")
		}
		return string(raw), nil
	}
	raw, err := io.ReadAll(io.LimitReader(req.Body, maxBody+1))
	switch {
	case len(raw) > maxBody:
		_, _ = io.CopyN(io.Discard, req.Body, maxDrained)
		return "", tooLarge
	case err != nil:
		return "", unreadable("Body cannot be read")
	}
	return string(raw), nil
}
