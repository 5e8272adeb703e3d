package s3

import (
	"bytes"
	"crypto/rand"
	"encoding/xml"
	"errors"
	"io"
	"localaws/disk"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// request is one request about a bucket, or about an object in it.
type request struct {
	*http.Request
	bucket, key string
	query       url.Values
	body        []byte
}

// response is a successful answer. out, if it is not nil, becomes XML.
type response struct {
	status  int
	header  http.Header
	content []byte
	out     any
}

// operation is one call: the parameters and the headers that it reads, and its handler. A parameter that names the
// operation (?versions) is one of those that it reads.
type operation struct {
	query   []string
	headers []string
	run     func(*Engine, *request) (*response, error)
}

// operations are keyed by the method, the resource, and the parameter that names the operation.
var operations = map[string]operation{
	"PUT bucket":            {nil, nil, (*Engine).createBucket},
	"HEAD bucket":           {nil, nil, (*Engine).headBucket},
	"PUT bucket versioning": {[]string{"versioning"}, bodyHeaders, (*Engine).putVersioning},
	"GET bucket versioning": {[]string{"versioning"}, nil, (*Engine).getVersioning},
	"PUT bucket lifecycle":  {[]string{"lifecycle"}, bodyHeaders, (*Engine).putLifecycle},
	"GET bucket lifecycle":  {[]string{"lifecycle"}, nil, (*Engine).getLifecycle},
	"GET bucket list-type": {
		[]string{"list-type", "prefix", "max-keys", "continuation-token", "start-after", "encoding-type"}, nil, (*Engine).listObjects,
	},
	"GET bucket versions": {
		[]string{"versions", "prefix", "max-keys", "key-marker", "version-id-marker", "encoding-type"}, nil, (*Engine).listVersions,
	},
	"PUT object":    {nil, append([]string{"If-Match", "If-None-Match"}, bodyHeaders...), (*Engine).putObject},
	"GET object":    {[]string{"versionId"}, readHeaders, (*Engine).getObject},
	"HEAD object":   {[]string{"versionId"}, readHeaders, (*Engine).getObject},
	"DELETE object": {[]string{"versionId"}, []string{"If-Match"}, (*Engine).deleteObject},
}

var (
	bodyHeaders = []string{"Content-Md5", "X-Amz-Checksum-Crc32", "X-Amz-Checksum-Sha256", "X-Amz-Sdk-Checksum-Algorithm"}
	readHeaders = []string{"If-Match", "If-None-Match", "Range", "X-Amz-Checksum-Mode"}
)

// meaningful are the headers, besides those that begin with X-Amz-, that change the behaviour of S3. An operation that does
// not read them refuses them.
var meaningful = []string{
	"Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Md5", "Expires",
	"If-Match", "If-Modified-Since", "If-None-Match", "If-Unmodified-Since", "Range",
}

// ignored are the headers of the protocol that need no handling here: signatures are not verified.
var ignored = []string{"X-Amz-Content-Sha256", "X-Amz-Date", "X-Amz-Security-Token", "X-Amz-User-Agent"}

const metaPrefix = "X-Amz-Meta-"

// ServeHTTP serves one request. A write that the disk refuses is an InternalError with the status 507, which SDKs do
// not retry as they do after 500 and 503.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	res, err := e.serve(r)
	if err != nil {
		res = e.failed(r, err)
	}
	id := rand.Text()
	if f, ok := res.out.(*failure); ok {
		f.RequestID = id
	}
	body := res.content
	if res.out != nil {
		if body, err = xml.Marshal(res.out); err != nil {
			e.log.ErrorContext(r.Context(), "s3.failed", "error", err)
			res.status, body = http.StatusInternalServerError, nil
		}
		body = append([]byte(xml.Header), body...)
		w.Header().Set("Content-Type", "application/xml")
	}
	for name, values := range res.header {
		w.Header()[name] = values
	}
	w.Header().Set("X-Amz-Request-Id", id)
	w.Header().Set("Server", "AmazonS3")
	if res.status != http.StatusNoContent && res.status != http.StatusNotModified && w.Header().Get("Content-Length") == "" {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(res.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// failed returns the answer of an error.
func (e *Engine) failed(r *http.Request, err error) *response {
	var f *failure
	if !errors.As(err, &f) {
		e.log.ErrorContext(r.Context(), "s3.failed", "method", r.Method, "path", r.URL.Path, "error", err)
		f = refuse(http.StatusInternalServerError, "InternalError", "We encountered an internal error. Please try again.")
		if errors.Is(err, disk.ErrUnwritable) || errors.Is(err, disk.ErrFailed) || isFull(err) {
			f.status = http.StatusInsufficientStorage
		}
	}
	copied := *f
	if r.Method == http.MethodHead { // the answer has no body, not even its length
		return &response{status: f.status, header: f.header}
	}
	return &response{status: f.status, header: f.header, out: &copied}
}

func (e *Engine) serve(r *http.Request) (*response, error) {
	in := &request{Request: r}
	var err error
	if in.query, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		return nil, invalidArgument("query", "The query could not be read")
	}
	in.bucket, in.key, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	op, err := in.operation()
	if err != nil {
		return nil, err
	}
	if in.body, err = io.ReadAll(io.LimitReader(r.Body, maxObject+1)); err != nil {
		return nil, refuse(http.StatusBadRequest, "IncompleteBody", "The request body terminated unexpectedly")
	}
	if len(in.body) > maxObject {
		return nil, refuse(http.StatusBadRequest, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size")
	}
	if err := in.checkBody(); err != nil {
		return nil, err
	}
	return op.run(e, in)
}

// operation returns the operation of a request that needs nothing that is not implemented.
func (in *request) operation() (operation, error) {
	name := in.Method + " bucket"
	switch {
	case in.bucket == "":
		return operation{}, notImplemented("ListBuckets")
	case in.key != "":
		name = in.Method + " object"
	}
	for _, sub := range []string{"versioning", "lifecycle", "list-type", "versions"} {
		if in.query.Has(sub) {
			name += " " + sub
		}
	}
	op, ok := operations[name]
	if !ok {
		return operation{}, notImplemented(name)
	}
	for name, values := range in.query {
		if name == "x-id" { // SDKs name the operation
			continue
		}
		if !slices.Contains(op.query, name) {
			return operation{}, notImplemented(name)
		}
		if len(values) > 1 {
			return operation{}, invalidArgument(name, "The parameter is given twice")
		}
	}
	for name, values := range in.Header {
		reads := slices.Contains(op.headers, name)
		means := slices.Contains(meaningful, name) || strings.HasPrefix(name, "X-Amz-") && !slices.Contains(ignored, name)
		meta := strings.HasPrefix(name, metaPrefix) && in.key != "" && in.Method == http.MethodPut
		if means && !reads && !meta || reads && len(values) > 1 {
			return operation{}, notImplemented(name)
		}
	}
	return op, nil
}

// list holds the parameters of both listings.
type list struct {
	prefix  string
	most    int
	encoded bool // encoding-type=url
}

func (in *request) list() (list, error) {
	l := list{prefix: in.query.Get("prefix"), most: maxPage}
	if in.query.Has("max-keys") {
		n, err := strconv.ParseInt(in.query.Get("max-keys"), 10, 32)
		if err != nil || n < 0 {
			return l, invalidArgument("max-keys", "Argument maxKeys must be an integer between 0 and 2147483647")
		}
		l.most = min(l.most, int(n))
	}
	switch in.query.Get("encoding-type") {
	case "url":
		l.encoded = true
	case "":
	default:
		return l, invalidArgument("encoding-type", "Invalid Encoding Method specified in Request")
	}
	return l, nil
}

// text returns a key for the answer. A key that XML cannot hold is refused.
func (l list) text(key string) (string, error) {
	if l.encoded {
		return strings.ReplaceAll(url.QueryEscape(key), "%2F", "/"), nil
	}
	var b bytes.Buffer
	if err := xml.EscapeText(&b, []byte(key)); err != nil {
		return "", err
	}
	if bytes.ContainsRune(b.Bytes(), '\uFFFD') && !strings.ContainsRune(key, '\uFFFD') {
		return "", notImplemented("keys that XML cannot hold, without encoding-type=url")
	}
	return key, nil
}
