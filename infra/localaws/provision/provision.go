// Package provision does the work of CloudFormation for tables, buckets and state machines: it creates them
// from the template, with the calls of any deployment.
package provision

import (
	"context"
	"errors"
	"fmt"
	"localaws/template"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
)

// Tables creates the template's tables, as a deployment does, and keeps existing ones.
func Tables(ctx context.Context, config aws.Config, t *template.Template, names map[string]string) error {
	client := dynamodb.NewFromConfig(config)
	for _, table := range t.Tables {
		name := names[table.ID]
		_, err := client.CreateTable(ctx, table.CreateTable(name))
		var exists *types.ResourceInUseException
		if errors.As(err, &exists) {
			continue
		}
		if err != nil {
			return fmt.Errorf("table %s: %w", table.ID, err)
		}
		if table.TTL == "" {
			continue
		}
		if _, err := client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
			TableName:               &name,
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &table.TTL, Enabled: aws.Bool(true)},
		}); err != nil {
			return fmt.Errorf("table %s: %w", table.ID, err)
		}
	}
	return nil
}

// Buckets creates the template's buckets, or updates their rules.
func Buckets(ctx context.Context, config aws.Config, t *template.Template, names map[string]string) error {
	client := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
	for _, b := range t.Buckets {
		if err := provide(ctx, client, b, names[b.ID]); err != nil {
			return fmt.Errorf("bucket %s: %w", b.ID, err)
		}
	}
	return nil
}

func provide(ctx context.Context, client *s3.Client, b template.Bucket, name string) error {
	if _, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name}); err != nil {
		return err
	}
	if _, err := client.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
		Bucket: &name, VersioningConfiguration: &s3types.VersioningConfiguration{Status: s3types.BucketVersioningStatusEnabled},
	}); err != nil || len(b.Rules) == 0 {
		return err
	}
	var rules []s3types.LifecycleRule
	for _, r := range b.Rules {
		rule := s3types.LifecycleRule{Status: s3types.ExpirationStatusEnabled, Filter: &s3types.LifecycleRuleFilter{Prefix: &r.Prefix}}
		if r.ID != "" {
			rule.ID = &r.ID
		}
		if r.Days > 0 {
			rule.NoncurrentVersionExpiration = &s3types.NoncurrentVersionExpiration{NoncurrentDays: aws.Int32(int32(r.Days))} //nolint:gosec // days of a template
			if r.Newer > 0 {
				rule.NoncurrentVersionExpiration.NewerNoncurrentVersions = aws.Int32(int32(r.Newer)) //nolint:gosec // at most 100
			}
		}
		if r.Current > 0 {
			rule.Expiration = &s3types.LifecycleExpiration{Days: aws.Int32(int32(r.Current))} //nolint:gosec // days of a template
		}
		if r.Markers {
			rule.Expiration = &s3types.LifecycleExpiration{ExpiredObjectDeleteMarker: aws.Bool(true)}
		}
		rules = append(rules, rule)
	}
	_, err := client.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{
		Bucket: &name, LifecycleConfiguration: &s3types.BucketLifecycleConfiguration{Rules: rules},
	})
	return err
}

// Machines creates or updates the template's state machines.
func Machines(ctx context.Context, config aws.Config, t *template.Template, d *template.Deployment, names map[string]string) error {
	client := sfn.NewFromConfig(config)
	for _, m := range t.StateMachines {
		definition, err := t.Definition(m, d)
		if err != nil {
			return err
		}
		arn, text := names[m.ID], string(definition)
		if _, err := client.UpdateStateMachine(ctx, &sfn.UpdateStateMachineInput{StateMachineArn: &arn, Definition: &text}); err == nil {
			continue
		}
		if _, err := client.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{
			Name: aws.String(names[m.ID+".Name"]), Definition: &text,
			RoleArn: aws.String("arn:aws:iam::" + names["AWS::AccountId"] + ":role/" + m.ID),
		}); err != nil {
			return fmt.Errorf("state machine %s: %w", m.ID, err)
		}
	}
	return nil
}
