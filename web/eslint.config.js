import prettier from "eslint-config-prettier";
import vue from "eslint-plugin-vue";
import ts from "typescript-eslint";

export default ts.config(
  { ignores: ["node_modules/", "../service/static/"] },
  ...ts.configs.strict,
  ...vue.configs["flat/recommended"],
  {
    files: ["**/*.vue"],
    languageOptions: { parserOptions: { parser: ts.parser } },
  },
  {
    rules: {
      "no-console": "error",
      "max-lines-per-function": ["error", { max: 60, skipComments: true, skipBlankLines: true }],
      "max-params": ["error", 5],
      "vue/no-v-html": "error",
      "vue/no-static-inline-styles": "error",
      "vue/require-default-prop": "off",
    },
  },
  { files: ["fixtures/**"], rules: { "no-console": "off" } },
  { files: ["fixtures/serve.mjs"], languageOptions: { globals: { process: "readonly" } } },
  { files: ["tests/**"], rules: { "max-lines-per-function": "off" } },
  prettier,
);
