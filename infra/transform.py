"""Transforms template.yaml as CloudFormation would, and holds what comes of it against AWS's limits.

It needs cfn-lint, which brings AWS's own transform (aws-sam-translator). The limits:
https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html and
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
"""

import json
import sys

from cfnlint.decode import cfn_yaml
from cfnlint.template.transforms._sam import Transform

# What AWS allows, and the half of it that this template may use: it grows.
LIMITS = {
    "resources": 500,
    "parameters": 200,
    "outputs": 200,
    "bytes of the whole, from S3": 1_000_000,
    "routes of the HTTP API": 300,
}


def without_schema(body):
    """The path parameters that API Gateway's importer warns of, as SAM writes them."""
    return [
        f"{method} {path} {{{parameter['name']}}}"
        for path, methods in body["paths"].items()
        for method, operation in methods.items()
        for parameter in operation.get("parameters", [])
        if "schema" not in parameter
    ]


def main(path):
    template = cfn_yaml.load(path)
    transform = Transform(path, template, "us-east-1")
    problems = [str(p) for p in transform.transform_template()]
    out = transform.template()
    used = {
        "resources": len(out["Resources"]),
        "parameters": len(out.get("Parameters", {})),
        "outputs": len(out.get("Outputs", {})),
        "bytes of the whole, from S3": len(json.dumps(out)),
        "routes of the HTTP API": 0,
    }
    for name, resource in out["Resources"].items():
        if resource["Type"] != "AWS::ApiGatewayV2::Api" or "Body" not in resource["Properties"]:
            continue
        body = resource["Properties"]["Body"]
        used["routes of the HTTP API"] += sum(len(methods) for methods in body["paths"].values())
        warned = without_schema(body)
        if warned and resource["Properties"].get("FailOnWarnings"):
            problems.append(f"{name}: FailOnWarnings refuses the import for {len(warned)} path parameters, as {warned[0]}")
        known = body.get("components", {}).get("securitySchemes", {})
        for route, methods in body["paths"].items():
            for method, operation in methods.items():
                if operation["x-amazon-apigateway-integration"]["type"] != "aws_proxy":
                    problems.append(f"{name}: {method} {route} calls no function")
                for scheme in operation.get("security", []):
                    problems += [f"{name}: {method} {route}: no authorizer is called {s}" for s in scheme if s not in {"NONE", *known}]
    for what, n in used.items():
        if n > LIMITS[what] / 2:
            problems.append(f"{what}: {n}, over half of AWS's {LIMITS[what]}")
        print(f"{n:>8} {what} (AWS allows {LIMITS[what]})")
    for problem in problems:
        print("transform:", problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
