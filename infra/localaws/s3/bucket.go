package s3

import (
	"encoding/xml"
	"localaws/disk"
	"net/http"
	"regexp"
	"strings"
	"time"
)

const namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

// bucketName is the form of names. S3 also refuses some that are formed so, such as IP addresses.
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// seconds returns the time as S3 has it.
func (e *Engine) seconds() time.Time { return e.now().UTC().Truncate(time.Second) }

// createBucket creates a bucket. In this region, a bucket that its owner creates again is no error.
func (e *Engine) createBucket(in *request) (*response, error) {
	switch {
	case len(in.body) > 0:
		return nil, notImplemented("CreateBucketConfiguration")
	case !bucketName.MatchString(in.bucket) || strings.Contains(in.bucket, ".."):
		f := refuse(http.StatusBadRequest, "InvalidBucketName", "The specified bucket is not valid.")
		f.Bucket = in.bucket
		return nil, f
	}
	err := e.store.Update(func(tx *disk.Tx) error {
		if tx.Bucket(bucketTable).Get([]byte(in.bucket)) != nil {
			return nil
		}
		if _, err := tx.Bucket(versionTable).CreateBucketIfNotExists([]byte(in.bucket)); err != nil {
			return err
		}
		return putBucket(tx, in.bucket, bucket{Made: e.seconds()})
	})
	return &response{status: http.StatusOK, header: http.Header{"Location": {"/" + in.bucket}}}, err
}

// bucket returns the bucket of a request.
func (e *Engine) bucket(in *request) (b bucket, err error) {
	err = e.store.View(func(tx *disk.Tx) error {
		b, _, err = bucketOf(tx, in.bucket)
		return err
	})
	return b, err
}

// changeBucket changes the bucket of a request.
func (e *Engine) changeBucket(in *request, change func(*bucket)) (*response, error) {
	err := e.store.Update(func(tx *disk.Tx) error {
		b, _, err := bucketOf(tx, in.bucket)
		if err != nil {
			return err
		}
		change(&b)
		return putBucket(tx, in.bucket, b)
	})
	return &response{status: http.StatusOK}, err
}

func (e *Engine) headBucket(in *request) (*response, error) {
	_, err := e.bucket(in)
	return &response{status: http.StatusOK, header: http.Header{"X-Amz-Bucket-Region": {"us-east-1"}}}, err
}

type versioning struct {
	XMLName   xml.Name `xml:"VersioningConfiguration"`
	Namespace string   `xml:"xmlns,attr"`
	Status    string   `xml:",omitempty"`
	MFADelete string   `xml:"MfaDelete,omitempty"`
}

func (e *Engine) putVersioning(in *request) (*response, error) {
	var asked versioning
	switch err := xml.Unmarshal(in.body, &asked); {
	case err != nil:
		return nil, malformed()
	case asked.Status != "Enabled" || asked.MFADelete != "":
		return nil, notImplemented("versioning other than Enabled")
	}
	return e.changeBucket(in, func(b *bucket) { b.Versioned = true })
}

func (e *Engine) getVersioning(in *request) (*response, error) {
	b, err := e.bucket(in)
	out := versioning{Namespace: namespace}
	if b.Versioned {
		out.Status = "Enabled"
	}
	return &response{status: http.StatusOK, out: out}, err
}
