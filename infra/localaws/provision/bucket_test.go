package provision_test

import (
	"localaws/disk"
	"localaws/inproc"
	"localaws/provision"
	"localaws/s3"
	"localaws/template"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
)

const buckets = `Transform: AWS::Serverless-2016-10-31
Resources:
  PageBucket:
    Type: AWS::S3::Bucket
    Properties:
      BucketEncryption: {}
  Files:
    Type: AWS::S3::Bucket
    DeletionPolicy: Retain
    Properties:
      VersioningConfiguration: {Status: Enabled}
      PublicAccessBlockConfiguration: {BlockPublicAcls: true}
      LifecycleConfiguration:
        Rules:
          - Id: age
            Status: Enabled
            ExpiredObjectDeleteMarker: true
            NoncurrentVersionExpiration: {NoncurrentDays: 30}
          - Id: number
            Status: Enabled
            NoncurrentVersionExpiration: {NoncurrentDays: 1, NewerNoncurrentVersions: 19}
          - Status: Enabled
            Prefix: parts/
            ExpirationInDays: 7
`

// TestBucketsOfATemplate: one with versioning is created, and keeps its objects when it is provided again.
func TestBucketsOfATemplate(t *testing.T) {
	dir := t.TempDir()
	tpl, err := template.Parse("template.yaml", []byte(buckets))
	if err != nil {
		t.Fatal(err)
	}
	if len(tpl.Buckets) != 1 || len(tpl.Unused) != 1 || tpl.Unused[0].ID != "PageBucket" {
		t.Fatalf("%+v, unused %+v", tpl.Buckets, tpl.Unused)
	}
	names := tpl.Names()
	if names["Files"] != "local-files" || names["Files.Arn"] != "arn:aws:s3:::local-files" {
		t.Errorf("%q, %q", names["Files"], names["Files.Arn"])
	}
	store, err := disk.Open(filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	engine, err := s3.Open(store, filepath.Join(dir, "objects"))
	if err != nil {
		t.Fatal(err)
	}
	config := aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient: inproc.Transport{Handler: engine}, BaseEndpoint: aws.String("http://engine.test"),
	}
	client := sdk.NewFromConfig(config, func(o *sdk.Options) { o.UsePathStyle = true })
	name, key := aws.String(names["Files"]), aws.String("k")
	for i := range 2 {
		if err := provision.Buckets(t.Context(), config, tpl, names); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if _, err := client.PutObject(t.Context(), &sdk.PutObjectInput{Bucket: name, Key: key}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := client.HeadObject(t.Context(), &sdk.HeadObjectInput{Bucket: name, Key: key}); err != nil {
		t.Error(err)
	}
	out, err := client.GetBucketLifecycleConfiguration(t.Context(), &sdk.GetBucketLifecycleConfigurationInput{Bucket: name})
	if err != nil || len(out.Rules) != 3 || *out.Rules[0].NoncurrentVersionExpiration.NoncurrentDays != 30 || out.Rules[0].Expiration == nil ||
		*out.Rules[1].NoncurrentVersionExpiration.NewerNoncurrentVersions != 19 || *out.Rules[2].Filter.Prefix != "parts/" || *out.Rules[2].Expiration.Days != 7 {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestBucketsThatCannotBeHonouredAreRefused(t *testing.T) {
	for name, properties := range map[string]string{
		"suspended":   "VersioningConfiguration: {Status: Suspended}",
		"replication": "{VersioningConfiguration: {Status: Enabled}, ReplicationConfiguration: {}}",
		"tags":        "{VersioningConfiguration: {Status: Enabled}, LifecycleConfiguration: {Rules: [{Status: Enabled, TagFilters: []}]}}",
		"both":        "{VersioningConfiguration: {Status: Enabled}, LifecycleConfiguration: {Rules: [{Status: Enabled, ExpirationInDays: 1, ExpiredObjectDeleteMarker: true}]}}",
		"no days":     "{VersioningConfiguration: {Status: Enabled}, LifecycleConfiguration: {Rules: [{Status: Enabled, NoncurrentVersionExpiration: {NewerNoncurrentVersions: 2}}]}}",
		"zero days":   "{VersioningConfiguration: {Status: Enabled}, LifecycleConfiguration: {Rules: [{Status: Enabled, NoncurrentVersionExpiration: {NoncurrentDays: 0}}]}}",
		"disabled":    "{VersioningConfiguration: {Status: Enabled}, LifecycleConfiguration: {Rules: [{Status: Disabled}]}}",
	} {
		text := "Transform: AWS::Serverless-2016-10-31\nResources:\n  B:\n    Type: AWS::S3::Bucket\n    Properties:\n      " + properties + "\n"
		if tpl, err := template.Parse("template.yaml", []byte(text)); err == nil {
			t.Errorf("%s: %+v", name, tpl.Buckets)
		}
	}
}
