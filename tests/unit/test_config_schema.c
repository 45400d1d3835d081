// SPDX-License-Identifier: BSD-3-Clause
// Configuration file: schema, reference page and examples agree with the tables.

#include <tl_test_config_text.h>

static char *read_source_file(const char *name)
{
	char path[512];
	snprintf(path, sizeof(path), TL_SOURCE_ROOT "/%s", name);
	FILE *file = fopen(path, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	char *text = calloc(1, 1 << 17);
	size_t n = fread(text, 1, (1 << 17) - 1, file);
	CU_ASSERT(n > 0 && n < (1 << 17) - 1);
	fclose(file);
	return text;
}

static bool is_list(const struct tl_config_key *key)
{
	return key->read == tl_config_array || key->read == tl_config_classes || key->read == tl_config_weights;
}

static void compare_key(const struct tl_config_key *key, const json_t *schema, const char *path)
{
	json_t *fallback = key->fallback != NULL ? json_loads(key->fallback, JSON_DECODE_ANY, NULL) : NULL;
	const json_t *documented = json_object_get(schema, "default");
	const json_t *words = key->read == tl_config_roles ? json_object_get(schema, "items") : schema;
	bool same = fallback == NULL ? documented == NULL : json_equal(fallback, documented);

	if (key->read == tl_config_number)
		same = same && json_integer_value(json_object_get(schema, "maximum")) == (json_int_t)key->max &&
		       json_integer_value(json_object_get(schema, "minimum")) ==
			       (json_int_t)(key->or_zero ? 0 : key->min);
	if (is_list(key))
		same = same && json_integer_value(json_object_get(schema, "maxItems")) == (json_int_t)key->max &&
		       json_integer_value(json_object_get(schema, "minItems")) == (json_int_t)key->min;
	for (size_t i = 0; key->choices != NULL && key->choices[i] != NULL; i++) {
		const char *word = json_string_value(json_array_get(json_object_get(words, "enum"), i));
		same = same && word != NULL && strcmp(word, key->choices[i]) == 0;
	}
	if (!same)
		printf("# schema and table disagree on %s\n", path);
	CU_ASSERT_TRUE(same);
	json_decref(fallback);
}

static void compare_table(const struct tl_config_table *table, const json_t *schema, const char *path)
{
	const json_t *properties = json_object_get(schema, "properties");
	size_t required = 0;

	CU_ASSERT_EQUAL(json_object_size(properties), table->n_keys);
	CU_ASSERT_TRUE(json_is_false(json_object_get(schema, "additionalProperties")));
	for (size_t i = 0; i < table->n_keys; i++) {
		const struct tl_config_key *key = &table->keys[i];
		const json_t *property = json_object_get(properties, key->name);
		char inner[128];
		snprintf(inner, sizeof(inner), "%s.%s", path, key->name);
		if (property == NULL)
			printf("# the schema lacks %s\n", inner);
		CU_ASSERT_PTR_NOT_NULL(property);
		compare_key(key, property, inner);
		if (key->table != NULL)
			compare_table(key->table, is_list(key) ? json_object_get(property, "items") : property, inner);
		if (key->required) {
			const json_t *name = json_array_get(json_object_get(schema, "required"), required++);
			CU_ASSERT(json_is_string(name) && strcmp(json_string_value(name), key->name) == 0);
		}
	}
	CU_ASSERT_EQUAL(json_array_size(json_object_get(schema, "required")), required);
}

TL_TEST("the schema names exactly the keys of the tables")
{
	char *text = read_source_file("docs/config.schema.json");
	json_error_t error;
	json_t *schema = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	CU_ASSERT_PTR_NOT_NULL_FATAL(schema);
	compare_table(&tl_config_root, schema, "$");
	json_decref(schema);
	free(text);
}

// "67108864" is "64M".
static const char *size_word(uint64_t bytes, char word[24])
{
	static const char units[] = {'\0', 'K', 'M', 'G', 'T', '\0'};
	size_t unit = 0;

	for (; bytes != 0 && bytes % 1024 == 0 && unit < 4; unit++)
		bytes /= 1024;
	snprintf(word, 24, "%ju%.1s", (uintmax_t)bytes, &units[unit]);
	return word;
}

// Return the expected column "type" of the reference: "| 0, size 4M to 16T |"; "" for a key with its own reader.
static void describe_type(const struct tl_config_key *key, char *text, size_t size)
{
	const char *zero = key->or_zero ? "0, " : "";
	char low[24], high[24];
	size_t used = 0;

	*text = '\0';
	if (key->read == tl_config_bool)
		snprintf(text, size, "| boolean |");
	else if (key->read == tl_config_number && key->max == UINT64_C(1) << 53)
		snprintf(text, size, "| %s%ju to 2^53 |", zero, (uintmax_t)key->min);
	else if (key->read == tl_config_number)
		snprintf(text, size, "| %s%ju to %ju |", zero, (uintmax_t)key->min, (uintmax_t)key->max);
	else if (key->read == tl_config_size && key->min == 0)
		snprintf(text, size, "| size up to %s |", size_word(key->max, high));
	else if (key->read == tl_config_size)
		snprintf(text, size, "| %ssize %s to %s |", zero, size_word(key->min, low), size_word(key->max, high));
	for (size_t i = 0; key->choices != NULL && key->choices[i] != NULL; i++)
		used += (size_t)snprintf(text + used, size - used, "%s`\"%s\"`",
			i != 0			       ? ", "
			: key->read == tl_config_roles ? "| array of "
						       : "| ",
			key->choices[i]);
	if (used != 0)
		snprintf(text + used, size - used, " |");
}

// Check that every key has a row in the reference: "| `ports[].mtu` | 576 to 9600 | `1500` | ...".
static size_t find_rows(const struct tl_config_table *table, const char *text, const char *prefix)
{
	size_t rows = 0;

	for (size_t i = 0; i < table->n_keys; i++) {
		const struct tl_config_key *key = &table->keys[i];
		char path[128], start[140], fallback[64], row[512], type[160];
		snprintf(path, sizeof(path), "%s%s%s", prefix, key->name, is_list(key) ? "[]." : ".");
		if (key->table != NULL)
			rows += find_rows(key->table, text, path);
		if (key->table != NULL && *prefix == '\0')
			continue; // a section has a heading instead
		snprintf(start, sizeof(start), "\n| `%s%s` | ", prefix, key->name);
		snprintf(fallback, sizeof(fallback),
			key->required	? "| required |"
			: key->fallback ? "| `%s` |"
					: "| – |",
			key->fallback);
		const char *found = strstr(text, start);
		snprintf(row, sizeof(row), "%.*s", found == NULL ? 0 : (int)strcspn(found + 1, "\n"),
			found == NULL ? "" : found + 1);
		if (strstr(row, fallback) == NULL)
			printf("# docs/config.md: %s%s lacks its row or %s\n", prefix, key->name, fallback);
		CU_ASSERT_PTR_NOT_NULL(strstr(row, fallback));
		describe_type(key, type, sizeof(type));
		if (strstr(row, type) == NULL)
			printf("# docs/config.md: the type of %s%s is not %s\n", prefix, key->name, type);
		CU_ASSERT_PTR_NOT_NULL(strstr(row, type));
		rows++;
	}
	return rows;
}

TL_TEST("the reference lists type and default of exactly the known keys")
{
	static const char *const sections[] = {"eal.", "ports[].", "capture[].", "echo[].", "share[].", "shape[].",
		"replay[].", "control.", "process."};
	char *text = read_source_file("docs/config.md");
	size_t expected = find_rows(&tl_config_root, text, ""), rows = 0;

	for (size_t i = 0; i < TL_ARRAY_LEN(sections); i++) {
		char start[32];
		snprintf(start, sizeof(start), "\n| `%s", sections[i]);
		for (const char *p = text; (p = strstr(p, start)) != NULL; p++)
			rows++;
	}
	CU_ASSERT_EQUAL(rows, expected);
	free(text);
}

TL_TEST("the examples of the reference load")
{
	char *text = read_source_file("docs/config.md");
	unsigned examples = 0;

	for (char *p = text; (p = strstr(p, "```json\n")) != NULL; examples++) {
		struct tl_config *config = NULL;
		struct tl_err err = {""};
		p += strlen("```json\n");
		size_t len = (size_t)(strstr(p, "```") - p);
		int rc = tl_config_load_text(p, len, "config.md", &config, &err);
		if (rc != 0)
			printf("# %s\n", err.text);
		CU_ASSERT_EQUAL(rc, 0);
		tl_config_free(config);
		p += len + 3;
	}
	CU_ASSERT_EQUAL(examples, 6);
	free(text);
}

int main(void)
{
	return tl_test_run("config_schema");
}
